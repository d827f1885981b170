"""The loader in a training loop: batches, epochs, closing."""

import gc
import os
import pickle
import re

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.loaders import RANDOM, SQUARE, opened

# --- contents of a batch -----------------------------------------------------------------------


def test_a_batch_is_a_pair_of_tensors_in_channels_last_memory(photos):
    images, labels = next(iter(opened(photos.pack)))
    assert images.shape == (5, 3, 24, 24)
    assert images.dtype == torch.uint8
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert images.stride() == (3 * 24 * 24, 1, 3 * 24, 3)
    assert labels.dtype == torch.int64
    assert labels.tolist() == photos.labels[:5]


def test_contiguous_memory_has_the_strides_of_nchw(photos):
    images, _ = next(iter(opened(photos.pack, memory_format="contiguous")))
    assert images.is_contiguous()
    assert images.shape == (5, 3, 24, 24)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "bfloat16"])
def test_every_type_of_element_holds_the_value_torchvision_would_compute(photos, dtype):
    plain, _ = next(iter(opened(photos.pack)))
    wanted = getattr(torch, dtype)
    images, _ = next(iter(opened(photos.pack, transforms=[*SQUARE, T.ToDtype(wanted, scale=True)])))
    assert images.dtype == wanted
    expected = plain if dtype == "uint8" else plain.to(torch.float32).mul(1 / 255).to(wanted)
    assert torch.equal(images, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_normalize_gives_the_value_torchvision_would_compute(photos, dtype):
    plain, _ = next(iter(opened(photos.pack)))
    ops = [*SQUARE, T.Normalize(), T.ToDtype(dtype)]
    images, _ = next(iter(opened(photos.pack, transforms=ops)))
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    expected = plain.to(torch.float32).mul(1 / 255).sub(mean).div(std).to(getattr(torch, dtype))
    assert torch.equal(images, expected)


def test_return_index_adds_the_numbers_of_the_samples(photos):
    loader = opened(photos.pack, shuffle=True, seed=2, return_index=True)
    seen = []
    for images, labels, index in loader:
        assert index.dtype == torch.int64
        assert len(index) == len(images)
        assert labels.tolist() == [photos.labels[i] for i in index.tolist()]
        seen += index.tolist()
    assert sorted(seen) == list(range(photos.count))


def test_given_labels_replace_the_stored_ones(photos):
    new = [1000 - i for i in range(photos.count)]
    for labels in (new, np.array(new, np.int32), torch.tensor(new)):
        loader = opened(photos.pack, labels=labels, shuffle=True, return_index=True)
        batches = list(loader)
        assert sum(len(got) for _, got, _ in batches) == photos.count
        for _, got, index in batches:
            assert got.tolist() == [new[i] for i in index.tolist()]


def test_labels_can_be_given_to_images_that_have_none(make, tmp_path):
    tar = make.tar(tmp_path / "plain.tar", {f"{n}.png": make.png(n, 16, 16) for n in range(4)})
    with pytest.warns(UserWarning, match="samples have no labels"):
        assert [x.tolist() for _, x in opened(tar, 4)] == [[-1] * 4]
    assert [x.tolist() for _, x in opened(tar, 4, labels=[3, 1, 2, 0])] == [[3, 1, 2, 0]]
    (batch,) = opened(tar, 4, labels=[3, 1, 2, 0], as_dict=True)
    assert batch["label"].tolist() == [3, 1, 2, 0]


def test_writing_to_a_batch_does_not_change_other_batches(photos, digest):
    untouched = [digest(batch) for batch in opened(photos.pack, prefetch=1)]
    seen = []
    for batch in opened(photos.pack, prefetch=1):
        seen.append(digest(batch))
        batch[0].fill_(7)
        batch[1].fill_(7)
    assert seen == untouched


def test_images_of_unequal_size_give_an_error_that_names_the_remedy(photos):
    with pytest.raises(tundish.Error, match="TND-602") as caught:
        list(opened(photos.pack, transforms=[]))
    text = str(caught.value)
    assert re.search(r"record \d+ gives \d+ x \d+ pixels, record \d+ in the same batch", text)
    assert "Resize((H, W))" in text
    assert caught.value.code == "TND-602"
    assert isinstance(caught.value, ValueError)


def test_exif_orientation_is_followed_when_asked_for(make, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # must be rotated clockwise
    image = make.photo(1, 40, 24)
    make.write(tmp_path / "x/a.png", make.encode(image))
    make.write(tmp_path / "x/b.jpg", make.encode(image, "JPEG", exif=exif, quality=90))
    stored, _ = list(opened(tmp_path, 1, transforms=[]))[1]
    turned, _ = list(opened(tmp_path, 1, transforms=[], exif_orientation=True))[1]
    assert stored.shape == (1, 3, 24, 40)
    assert torch.equal(turned, stored.rot90(-1, (2, 3)))


# --- iterating ---------------------------------------------------------------------------------


def test_list_of_a_loader_keeps_all_batches_intact(photos, digest):
    options = {"shuffle": True, "transforms": RANDOM, "prefetch": 1}
    one_by_one = [digest(batch) for batch in opened(photos.pack, 2, **options)]
    kept = list(opened(photos.pack, 2, **options))
    assert [digest(batch) for batch in kept] == one_by_one


def test_kept_batches_survive_their_loader(photos, digest):
    loader = opened(photos.pack)
    kept = list(loader)
    before = digest(kept)
    del loader
    gc.collect()
    another = list(opened(photos.pack, transforms=[T.Resize((24, 24)), T.Normalize()]))
    assert digest(kept) == before
    assert len(another) == len(kept)


def test_keeping_labels_keeps_no_pixels(tiny):
    loader = opened(tiny.pack, 5, prefetch=2, return_index=True)
    kept = [(labels, index) for _, labels, index in loader]
    assert len(kept) == len(loader)
    assert loader.stats()["data/slots"] <= 2 + 2


def test_keeping_batches_takes_new_memory_and_warns(tiny):
    loader = opened(tiny.pack, 5, prefetch=2)
    kept = list(loader)
    assert loader.stats()["data/slots"] >= len(kept)


def test_the_length_is_the_number_of_batches(photos):
    assert photos.count == 23
    for size, options, expected in [
        (5, {}, 5),
        (5, {"drop_last": True}, 4),
        (5, {"uneven": "drop"}, 4),
        (5, {"shuffle": True}, 5),
        (23, {}, 1),
        (24, {}, 1),
        (24, {"drop_last": True}, 0),
        (1, {}, 23),
    ]:
        loader = opened(photos.pack, size, **options)
        assert len(loader) == expected
        for _ in range(2):
            assert len(list(loader)) == expected


def test_the_last_batch_may_be_short(photos):
    assert [len(labels) for _, labels in opened(photos.pack, 5)] == [5, 5, 5, 5, 3]


def test_iterating_again_gives_the_next_epoch(photos, digest):
    loader = opened(photos.pack, shuffle=True, transforms=RANDOM)
    epochs = []
    for epoch in range(3):
        assert loader.epoch == epoch
        epochs.append(digest(list(loader)))
    assert len(set(epochs)) == 3
    for epoch in (2, 0, 1):
        loader.set_epoch(epoch)
        assert digest(list(loader)) == epochs[epoch]


def test_leaving_a_loop_and_iterating_again_gives_the_next_epoch(photos, digest):
    whole = opened(photos.pack, shuffle=True)
    list(whole)
    second = digest(list(whole))
    loader = opened(photos.pack, shuffle=True)
    for _ in loader:
        break
    assert digest(list(loader)) == second


def test_set_epoch_works_through_the_sampler(photos, digest):
    loader = opened(photos.pack, shuffle=True)
    loader.set_epoch(7)
    seventh = digest(list(loader))
    for name in ("sampler", "batch_sampler"):
        loader = opened(photos.pack, shuffle=True)
        getattr(loader, name).set_epoch(7)
        assert loader.epoch == 7
        assert digest(list(loader)) == seventh


def test_set_epoch_repeats_an_epoch_that_was_left_in_the_middle(photos, digest):
    loader = opened(photos.pack, shuffle=True)
    first = digest(list(loader))
    loader.set_epoch(0)
    next(iter(loader))
    loader.set_epoch(0)
    assert digest(list(loader)) == first


def test_set_epoch_affects_an_unused_iterator(photos, digest):
    loader = opened(photos.pack, shuffle=True)
    loader.set_epoch(3)
    third = digest(list(loader))
    loader.set_epoch(0)
    iterator = iter(loader)
    loader.set_epoch(3)
    assert loader.epoch == 3
    assert digest(list(iterator)) == third
    assert loader.epoch == 4


def test_set_epoch_inside_a_loop_affects_the_next_epoch(photos, digest):
    loader = opened(photos.pack, shuffle=True)
    first = digest(list(loader))
    loader.set_epoch(5)
    fifth = digest(list(loader))
    loader.set_epoch(0)
    got = []
    for batch in loader:
        got.append(batch)
        loader.set_epoch(5)
        assert loader.state_dict()["epoch"] == 0
    assert digest(got) == first
    assert digest(list(loader)) == fifth


def test_two_loaders_at_once_do_not_disturb_each_other(photos, digest):
    alone = [digest(batch) for batch in opened(photos.pack, shuffle=True, transforms=RANDOM)]
    one = opened(photos.pack, shuffle=True, transforms=RANDOM)
    two = opened(photos.pack, shuffle=True, transforms=RANDOM, threads=1)
    for expected, a, b in zip(alone, one, two, strict=True):
        assert digest(a) == digest(b) == expected


def test_a_newer_iteration_ends_an_older_one_with_an_error(photos):
    loader = opened(photos.pack)
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(RuntimeError, match="newer iteration"):
        next(older)
    assert len(list(newer)) == len(loader)


def test_an_iterator_that_ended_stays_ended(photos):
    iterator = iter(opened(photos.pack))
    assert len(list(iterator)) == 5
    assert list(iterator) == []
    assert next(iterator, None) is None


def test_an_iterator_keeps_its_loader_alive(photos):
    iterator = iter(opened(photos.pack))
    gc.collect()
    assert len(list(iterator)) == 5


def test_a_loader_is_freed_with_its_last_reference(photos):
    gc.disable()
    try:
        loader = opened(photos.pack)
        next(iter(loader))
        end = loader._engine._end
        del loader
        assert not end.alive
    finally:
        gc.enable()


# --- closing and copying -----------------------------------------------------------------------


def test_the_loader_is_a_context_manager(photos, digest):
    with opened(photos.pack) as loader:
        batch = next(iter(loader))
        before = digest(batch)
    assert digest(batch) == before
    with pytest.raises(ValueError, match=r"TND-606"):
        iter(loader)


def test_every_method_of_a_closed_loader_raises(photos):
    loader = opened(photos.pack)
    iterator = iter(loader)
    next(iterator)
    loader.close()
    loader.close()
    for use in (
        lambda: next(iterator),
        lambda: iter(loader),
        lambda: len(loader),
        loader.stats,
        loader.bad_samples,
    ):
        with pytest.raises(tundish.Error, match=r"TND-606 .*photos.tnd is closed") as caught:
            use()
        assert caught.value.code == "TND-606"
    assert "photos.tnd" in repr(loader)


def test_a_loader_pickles_with_its_position(photos, digest):
    loader = opened(photos.pack, shuffle=True, transforms=RANDOM, labels=list(range(photos.count)))
    iterator = iter(loader)
    next(iterator)
    copy = pickle.loads(pickle.dumps(loader))
    assert digest(list(copy)) == digest(list(iterator))
    assert copy.state_dict() == loader.state_dict()


def test_the_repr_of_a_loader_describes_it(photos):
    loader = opened(photos.pack, rank=1, world_size=2)
    assert repr(loader) == (
        f"tundish.Loader({str(photos.pack)!r}): 23 samples, batches of 5, "
        "rank 1 of 2, 2 threads, epoch 0"
    )
    assert len(loader.dataset) == photos.count
    assert loader.dataset is loader.dataset


def test_stats_count_what_was_delivered(photos, make, tmp_path):
    kept = make.pack(photos.folder, tmp_path / "kept.tnd", "--codec", "keep")
    loader = opened(kept, threads=2)
    list(loader)
    stats = loader.stats()
    assert stats["data/batches"] == 5
    assert stats["data/samples"] == 23
    assert stats["data/replaced"] == stats["data/skipped"] == 0
    assert stats["data/threads"] == 2
    assert stats["data/bytes"] >= sum(
        os.path.getsize(photos.folder / name) for name in photos.names
    )
    assert loader.bad_samples() == []


def test_a_loader_can_retry_after_no_thread_could_be_started(photos, run_python):
    result = run_python(
        """
import numpy, resource, sys, threading, tundish
from tundish import transforms as T
loader = tundish.Loader(sys.argv[1], 4, threads=2, backend="numpy",
                        transforms=[T.Resize((8, 8))])
# Takes the stack that the C library has kept of the thread that opened the source.
threading.Thread(target=threading.Event().wait, daemon=True).start()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 20), before[1]))  # a stack has 8 MiB
try:
    iter(loader)
except tundish.Error as error:
    print(error.code, "no thread could be started" in str(error))
resource.setrlimit(resource.RLIMIT_AS, before)
print(sum(len(labels) for _, labels in loader), loader.stats()["data/threads"])
""",
        photos.pack,
    )
    assert result.stdout == "TND-505 True\n23 2\n"
