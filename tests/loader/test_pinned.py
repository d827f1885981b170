"""Page-locked batches on a machine without a GPU; tests/gpu covers the rest.

Plain memory replaces page-locked memory. A list keeps every piece, like torch's allocator during a
copy: the memory is not reused.
"""

import pytest
import torch
import tundish
from tundish import transforms as T
from tundish.data.batch import pinned


@pytest.fixture
def pieces(monkeypatch):
    """Every requested piece of memory."""
    asked = []

    def plain(count):
        asked.append(torch.empty(count, dtype=torch.uint8))
        return asked[-1]

    monkeypatch.setattr(pinned, "pinning_obstacle", lambda backend: "")
    monkeypatch.setattr(pinned, "allocate_pinned", plain)
    return asked


def opened(path, **options):
    transforms = options.pop("transforms", [T.RandomResizedCrop(16)])
    return tundish.Loader(path, 4, threads=3, shuffle=True, transforms=transforms, **options)


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize("more", [[], [T.Normalize()], [T.ToDtype("bfloat16")]])
def test_pinned_batches_equal_plain_ones(photos, pieces, digest, memory_format, more):
    options = {
        "memory_format": memory_format,
        "transforms": [T.RandomResizedCrop((16, 24)), *more],
    }
    pinned = opened(photos.pack, pin_memory=True, **options)
    plain = opened(photos.pack, **options)
    for _ in range(3):
        ours, theirs = list(pinned), list(plain)
        assert digest(ours) == digest(theirs)
        for (a, _), (b, _) in zip(ours, theirs, strict=True):
            assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)


def test_a_dropped_batch_is_not_overwritten_while_its_copy_may_run(photos, pieces):
    loader = opened(photos.pack, pin_memory=True)
    reads = {}  # address: bytes that a running copy would still read
    for _ in range(4):
        for images, _ in loader:
            assert images.data_ptr() not in reads
            reads[images.data_ptr()] = bytes(images.untyped_storage())
            del images
    memory = {piece.data_ptr(): piece for piece in pieces}
    for address, expected in reads.items():
        assert bytes(memory[address].untyped_storage()) == expected


def test_batches_are_assembled_in_the_delivered_memory(photos, pieces, monkeypatch):
    loader = opened(photos.pack, pin_memory=True, prefetch=2)
    copied = []
    copy = pinned.ctypes.memmove
    monkeypatch.setattr(pinned.ctypes, "memmove", lambda *a: copied.append(copy(*a)), raising=True)
    addresses = [images.data_ptr() for _ in range(5) for images, _ in loader]
    assert len(addresses) == 30
    assert set(addresses) <= {piece.data_ptr() for piece in pieces}
    assert len(copied) <= 2 * 3, "only those that were begun before the first one was seen"


def test_batches_of_constantly_changing_sizes_are_correct(make, tmp_path, pieces, digest):
    for number in range(12):
        make.write(
            tmp_path / f"x/{number:02}.png", make.png(number, 8 + 4 * number, 8 + 3 * number)
        )
    options = {"transforms": (), "batch_size": 1, "threads": 2}
    pinned = tundish.Loader(tmp_path, pin_memory=True, **options)
    plain = tundish.Loader(tmp_path, **options)
    for _ in range(3):
        assert digest(list(pinned)) == digest(list(plain))
    sizes = sorted({piece.numel() for piece in pinned._setup.pinned._lent.values()})
    assert len(sizes) <= 5, sizes


def test_batches_without_an_image_are_empty_tensors(make, tmp_path, pieces):
    for number in range(17):
        data = b"no image" if number < 4 else make.png(number, 16, 16)
        make.write(tmp_path / f"x/{number:02}.png", data)
    # With one rank, empty batches are not delivered.
    ranks = {"rank": 0, "world_size": 2, "on_error": "skip"}
    loader = tundish.Loader(tmp_path, 4, transforms=[T.Resize((8, 8))], pin_memory=True, **ranks)
    with pytest.warns(UserWarning, match="bad sample"):
        shapes = [tuple(images.shape) for images, _ in loader]
    assert shapes == [(0, 3, 8, 8), (4, 3, 8, 8), (1, 3, 8, 8)]


def test_ctrl_c_during_delivery_leaks_no_piece(photos, pieces, digest, monkeypatch):
    import signal

    from tundish.data.batch import pending_batch

    loader, plain = opened(photos.pack, pin_memory=True), opened(photos.pack)
    list(loader), list(plain)
    labels = pending_batch.lib.tundish_batch_tensor

    def pressed(*arguments):
        signal.raise_signal(signal.SIGINT)

    for _ in range(8):  # more often than there are pieces
        iterator, ours = iter(loader), []
        monkeypatch.setattr(pending_batch.lib, "tundish_batch_tensor", pressed)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        monkeypatch.setattr(pending_batch.lib, "tundish_batch_tensor", labels)
        ours = list(iterator)
        assert digest(ours) == digest(list(plain))
    there = [piece for piece in pieces if piece.data_ptr() in loader._setup.pinned._lent]
    handed_out = {images.data_ptr() for images, _ in ours}
    assert not handed_out & {piece.data_ptr() for piece in there}


def test_pieces_outlive_a_loader_with_a_running_thread(photos, pieces, monkeypatch):
    from tundish.data import engine as module

    loader = opened(photos.pack, pin_memory=True)
    list(loader)
    kept = []
    monkeypatch.setattr(pinned, "leak_until_exit", kept.append)
    end = module.lib.tundish_loader_end
    monkeypatch.setattr(module.lib, "tundish_loader_end", lambda handle: end(handle) + 1)
    with pytest.warns(RuntimeWarning):
        loader.close()
    assert kept == [loader._setup.pinned]
