"""Datasets of torchvision: ImageFolder and similar ones, CIFAR, MNIST."""

from __future__ import annotations

import sys
from typing import Any

from ..changes.dataset_facts import Identity, checksum, contents
from ..reasons import not_translated
from ..where_defined import where_defined
from .parts import (
    Files,
    Part,
    Pixels,
    by_index,
    check_overrides,
    check_package,
    files_of,
    labels_of,
)

_FILE_DATASETS = ("ImageFolder", "ImageNet", "DatasetFolder")
_COLOR_DATASETS = ("CIFAR10", "CIFAR100")
_GRAY_DATASETS = ("MNIST", "FashionMNIST", "KMNIST", "EMNIST")


def part_of(dataset: Any) -> Part | None:
    """Returns the samples of a known torchvision dataset, or None for any other dataset."""
    module = sys.modules.get("torchvision.datasets")
    known = [
        getattr(module, name, None) for name in _FILE_DATASETS + _COLOR_DATASETS + _GRAY_DATASETS
    ]
    kind = next((base for base in type(dataset).__mro__ if base in known), None)
    if kind is None:
        return None
    check_overrides(dataset, kind)
    name = f"{type(dataset).__name__}({str(dataset.root)!r})"
    if kind.__name__ in _FILE_DATASETS:
        return _files(dataset, name)
    return _pixels(dataset, name, kind.__name__ in _GRAY_DATASETS)


def facts_of(dataset: Any) -> dict[str, Any]:
    """Returns the facts that determine the samples of a known dataset, except its transforms."""
    if not hasattr(dataset, "samples"):
        return {"data": checksum(dataset.data), "targets": contents(dataset.targets)}
    import torchvision

    backend = torchvision.get_image_backend()
    samples, loader = contents(dataset.samples), Identity(dataset.loader)
    pil_loader = Identity(torchvision.datasets.folder.pil_loader)
    facts = {"samples": samples, "loader": loader, "pil_loader": pil_loader}
    return {**facts, "image backend": backend}


def _files(dataset: Any, name: str) -> Files:
    import torchvision
    from torchvision.datasets.folder import default_loader, pil_loader

    if dataset.loader is not default_loader:
        raise not_translated(
            f"{name} has a custom loader=",
            "leave it out: the engine decodes JPEG, PNG, WebP, BMP and GIF with Pillow's pixels",
            where_defined(dataset.loader),
        )
    check_package(default_loader)
    check_package(pil_loader)
    if torchvision.get_image_backend() != "PIL":
        raise not_translated("torchvision's image backend is not PIL", 'set_image_backend("PIL")')
    return files_of(name, dataset.root, dataset.samples)


def _pixels(dataset: Any, name: str, gray: bool) -> Pixels:
    pixels = dataset.data.numpy() if hasattr(dataset.data, "numpy") else dataset.data
    shape: Any = getattr(pixels, "shape", ())
    right = len(shape) == 3 if gray else len(shape) == 4 and shape[3] == 3
    if not right or str(pixels.dtype) != "uint8":
        raise not_translated(
            f"{name} does not have the images of {type(dataset).__name__}",
            "keep the original images",
        )
    labels = labels_of(by_index(dataset.targets), name)[: len(pixels)]
    if len(labels) < len(pixels):
        raise not_translated(f"{name} has more images than labels", "add a label for each image")
    return Pixels(name, pixels, labels, "L" if gray else "RGB")
