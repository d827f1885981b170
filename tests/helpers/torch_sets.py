"""Small torchvision datasets and user-defined datasets, for tests of tundish.accelerate."""

import itertools
import zlib

import numpy as np
import torch
import tundish
from PIL import Image
from torch.utils.data import Dataset, IterableDataset
from torchvision import datasets
from torchvision.transforms import v2

FIXED = [
    v2.Resize((24, 20)),
    v2.CenterCrop(16),
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]),
]
GRAY = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.13], [0.31])]
RANDOM = [v2.RandomResizedCrop(16), v2.RandomHorizontalFlip(), *FIXED[2:]]


def write_folder(root, count=22):
    """Writes JPEGs and PNGs of different sizes in three classes, with nested folders and odd names."""
    for number in range(count):
        rng = np.random.default_rng(number)
        pixels = rng.integers(0, 256, (20 + number, 40 - number, 3), np.uint8)
        ending = "png" if number % 4 == 0 else "jpg"
        deeper = "deep er/" if number % 5 == 0 else ""
        path = root / f"c{number % 3}" / f'{deeper}{number:03},"x".{ending}'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return root


def image_folder(root, steps=FIXED):
    return datasets.ImageFolder(root, v2.Compose(steps))


def image_net(root, steps=FIXED):
    """Returns an ImageNet dataset without its archives."""
    out = datasets.ImageNet.__new__(datasets.ImageNet)
    out.__dict__.update(image_folder(root, steps).__dict__)
    return out


def in_memory(kind, steps, count=19):
    """Returns a CIFAR or MNIST dataset in memory, because torchvision verifies checksums of files."""
    out = kind.__new__(kind)
    gray = issubclass(kind, datasets.MNIST)
    shape = (count, 28, 28) if gray else (count, 32, 32, 3)
    rng = np.random.default_rng(zlib.crc32(kind.__name__.encode()))
    pixels, labels = rng.integers(0, 256, shape, np.uint8), rng.integers(0, 10, count)
    out.data = torch.from_numpy(pixels) if gray else pixels
    out.targets = torch.from_numpy(labels) if gray else labels.tolist()
    out.root, out.transform, out.target_transform = "nowhere", v2.Compose(steps), None
    return out


class OwnSet(Dataset):
    """A user's map-style dataset that can be pickled."""

    def __len__(self):
        return 23

    def __getitem__(self, index):
        return {"x": torch.full((2, 3), float(index)), "name": f"sample {index}"}, index


class OwnStream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


class OwnSampler:
    """A user-defined sampler, whose order is unknown. It returns the index 2 twice."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count + 1

    def __iter__(self):
        yield from [*torch.randperm(self.count).tolist(), 2]


def accelerated(loader, **options):
    """Accelerates a loader. Fails if the engine does not load its batches."""
    out = tundish.accelerate(loader, threads=2, **options)
    assert out.report.native, str(out.report)
    return out


def same_batches(ours, theirs):
    """Checks that batches have equal structure, types, shapes and strides, and nearly equal values."""
    for one, other in itertools.zip_longest(ours, theirs):
        assert type(one) is type(other) is list
        for mine, torchs in zip(one, other, strict=True):
            assert mine.dtype == torchs.dtype
            assert mine.shape == torchs.shape
            assert mine.stride() == torchs.stride()
            assert torch.allclose(mine, torchs, rtol=0, atol=1e-5)
    return True
