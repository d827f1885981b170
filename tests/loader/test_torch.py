"""The loader inside PyTorch: torch's own DataLoader, training steps, framework interfaces."""

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T
from tundish._c.library import lib
from tundish._c.tensor import Tensor

SQUARE = [T.Resize((16, 16)), T.Normalize()]


@pytest.fixture(autouse=True)
def _one_thread_of_torch():
    """Limits torch to one thread; several threads spin on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# On one core torch warns about two workers, which the tests need.
two_workers = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def first_corner(image):
    return torch.from_numpy(np.ascontiguousarray(image[:4, :4]))


@two_workers
@pytest.mark.parametrize("method", ["in process", "fork", "spawn"])
def test_the_data_set_works_inside_the_data_loader_of_torch(photos, method):
    data = tundish.Dataset(photos.pack, transform=first_corner)
    workers = {"fork": 2, "spawn": 1}.get(method, 0)
    loader = torch.utils.data.DataLoader(
        data,
        batch_size=6,
        num_workers=workers,
        multiprocessing_context=method if workers else None,
    )
    images, labels = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert labels.tolist() == photos.labels
    for number in range(photos.count):
        np.testing.assert_array_equal(images[number].numpy(), data[number][0])


@two_workers
def test_workers_forked_while_a_loader_is_running_read_the_same_data(photos):
    busy = tundish.Loader(photos.pack, 2, transforms=SQUARE, threads=2, prefetch=2)
    iterator = iter(busy)
    next(iterator)
    data = tundish.Dataset(photos.pack, transform=first_corner)
    loader = torch.utils.data.DataLoader(
        data, batch_size=6, num_workers=2, multiprocessing_context="fork"
    )
    for _ in range(2):
        assert torch.cat([labels for _, labels in loader]).tolist() == photos.labels
    assert len(list(iterator)) == len(busy) - 1


def test_an_error_in_a_worker_of_torch_arrives_with_its_text(make, tmp_path):
    make.write(tmp_path / "x/0.jpg", b"<html>not found</html>")
    loader = torch.utils.data.DataLoader(
        tundish.Dataset(tmp_path), num_workers=1, multiprocessing_context="fork"
    )
    with pytest.raises(tundish.SampleError, match="TND-401"):
        list(loader)


def test_samplers_and_subsets_of_torch_work_on_the_data_set(photos):
    data = tundish.Dataset(photos.pack, transform=first_corner)
    half = torch.utils.data.Subset(data, range(0, photos.count, 2))
    assert [half[i][1] for i in range(len(half))] == photos.labels[::2]
    shuffled = torch.utils.data.DataLoader(
        data, shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    assert sorted(int(label) for _, label in shuffled) == sorted(photos.labels)


def test_a_small_network_learns_to_separate_dark_from_bright(make, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(32):
        pixels = rng.integers(0, 120, (20, 20, 3)) + 135 * (number % 2)
        image = Image.fromarray(pixels.astype(np.uint8))
        make.write(tmp_path / f"{number % 2}/{number}.png", make.encode(image))
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 7 * 7, 2),
    ).to(memory_format=torch.channels_last)
    loader = tundish.Loader(
        tmp_path,
        8,
        shuffle=True,
        threads=2,
        transforms=[T.RandomCrop(16), T.RandomHorizontalFlip(), T.Normalize()],
    )
    for _ in range(10):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for weight, gradient in zip(model.parameters(), gradients, strict=True):
                    weight -= 0.05 * gradient
    with torch.no_grad():
        right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    assert right == 32


def test_autograd_sees_the_original_values_of_a_saved_batch(photos):
    expected = list(tundish.Loader(photos.pack, 3, transforms=SQUARE, threads=1))
    loader = tundish.Loader(photos.pack, 3, transforms=SQUARE, threads=2, prefetch=1)
    weight = torch.ones(1, requires_grad=True)
    total = sum((images * weight).sum() for images, _ in loader)
    total.backward()
    reference = sum(images.sum() for images, _ in expected)
    assert torch.allclose(weight.grad, reference)


def test_a_batch_goes_through_torch_save_and_shared_memory(photos, tmp_path, digest):
    batch = next(iter(tundish.Loader(photos.pack, 4, transforms=SQUARE)))
    torch.save(batch, tmp_path / "batch.pt")
    assert digest(torch.load(tmp_path / "batch.pt", weights_only=True)) == digest(batch)
    clone = tuple(tensor.clone().share_memory_() for tensor in batch)
    assert digest(clone) == digest(batch)


def test_a_torch_before_dlpack_1_gets_an_unversioned_capsule(photos, digest, monkeypatch):
    """Older versions call __dlpack__ without max_version; the capsule must own the memory, too."""
    expected = list(tundish.Loader(photos.pack, 4, transforms=SQUARE))
    monkeypatch.setattr(
        torch, "from_dlpack", lambda tensor: torch.utils.dlpack.from_dlpack(tensor.__dlpack__())
    )
    loader = tundish.Loader(photos.pack, 4, transforms=SQUARE)
    batches = list(loader)
    loader.close()
    assert digest(batches) == digest(expected)
    data = tundish.Dataset(photos.pack)
    for version, name in [(None, '"dltensor"'), ((0, 8), '"dltensor"'), ((1, 0), "_versioned")]:
        pointer = lib.tundish_source_image(data._source.handle, 0, 0, b"RGB")
        assert name in repr(Tensor(pointer).__dlpack__(max_version=version))


def test_the_loader_has_the_attributes_that_frameworks_use(photos):
    loader = tundish.Loader(photos.pack, 4, drop_last=True, shuffle=True)
    assert loader.batch_size == 4
    assert loader.drop_last
    assert len(loader.dataset) == photos.count
    assert callable(loader.sampler.set_epoch)
    assert callable(loader.batch_sampler.set_epoch)
    assert callable(loader.state_dict)
    assert callable(loader.load_state_dict)
    assert len(loader.batch_sampler) == len(loader) == 5


def test_loading_on_many_threads_does_not_disturb_the_generator_of_torch(photos):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    list(tundish.Loader(photos.pack, 4, transforms=[T.RandomResizedCrop(8)], shuffle=True))
    assert torch.equal(torch.get_rng_state(), before)
