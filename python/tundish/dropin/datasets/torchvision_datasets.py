"""Data sets of torchvision: ImageFolder and its like, CIFAR, MNIST."""

from __future__ import annotations

import sys
from typing import Any

from ..changes.dataset_facts import Identity, checksum, contents
from ..reasons import keep
from ..where_defined import where_defined
from .parts import Files, Part, Pixels, check_class, check_package, files_of, labels_of

_OF_FILES = ("ImageFolder", "ImageNet", "DatasetFolder")
_OF_COLOURS = ("CIFAR10", "CIFAR100")
_OF_GREYS = ("MNIST", "FashionMNIST", "KMNIST", "EMNIST")


def part_of(dataset: Any) -> Part | None:
    """None: it is no data set of torchvision that is known here."""
    module = sys.modules.get("torchvision.datasets")
    known = [getattr(module, name, None) for name in _OF_FILES + _OF_COLOURS + _OF_GREYS]
    kind = next((one for one in type(dataset).__mro__ if one in known), None)
    if kind is None:
        return None
    check_class(dataset, kind)
    name = f"{type(dataset).__name__}({str(dataset.root)!r})"
    if kind.__name__ in _OF_FILES:
        return _files(dataset, name)
    return _pixels(dataset, name, kind.__name__ in _OF_GREYS)


def facts_of(dataset: Any) -> dict[str, Any]:
    """Returns what the samples of a known data set depend on, besides its transforms."""
    if not hasattr(dataset, "samples"):
        return {"data": checksum(dataset.data), "targets": contents(dataset.targets)}
    import torchvision

    backend = torchvision.get_image_backend()
    samples, loader = contents(dataset.samples), Identity(dataset.loader)
    return {"samples": samples, "loader": loader, "image backend": backend}


def _files(dataset: Any, name: str) -> Files:
    import torchvision
    from torchvision.datasets.folder import default_loader, pil_loader

    if dataset.loader is not default_loader:
        raise keep(
            f"{name} has a loader= of its own",
            "leave it out: the engine decodes JPEG, PNG, WebP, BMP and GIF with Pillow's pixels",
            where_defined(dataset.loader),
        )
    check_package(default_loader)
    check_package(pil_loader)
    if torchvision.get_image_backend() != "PIL":
        raise keep("torchvision's image backend is not PIL", 'set_image_backend("PIL")')
    return files_of(name, dataset.root, dataset.samples)


def _pixels(dataset: Any, name: str, grey: bool) -> Pixels:
    pixels = dataset.data.numpy() if hasattr(dataset.data, "numpy") else dataset.data
    shape: Any = getattr(pixels, "shape", ())
    right = len(shape) == 3 if grey else len(shape) == 4 and shape[3] == 3
    if not right or str(pixels.dtype) != "uint8":
        raise keep(f"{name} has other images than {type(dataset).__name__} has", "its own images")
    labels = labels_of(dataset.targets, name)[: len(pixels)]
    if len(labels) < len(pixels):
        raise keep(f"{name} has more images than labels", "a label for each image")
    return Pixels(name, pixels, labels, "L" if grey else "RGB")
