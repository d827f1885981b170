"""Samples that the engine can read itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...transforms.unmodified import is_foreign, is_own_hook
from ..reasons import keep
from ..where_defined import where_defined

# What the engine decodes with Pillow's pixels (docs/formats/images.md).
ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif")


# Of a batch that is a dict: each name, and whether it is that of the images. Empty: a list of images and labels.
Names = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Files:
    """Images in files of their own."""

    name: str  # of the data set, for a report
    root: str
    paths: list[str]
    labels: Any  # int64
    mode: str = "RGB"
    names: Names = ()
    upright: bool = False  # images are turned as their EXIF says

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class Ranges:
    """Images that are parts of files: Arrow's."""

    name: str
    paths: list[str]  # of each image
    offsets: Any  # int64
    sizes: Any
    labels: Any
    mode: str
    names: Names
    upright: bool

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class Pixels:
    """Images in memory: uint8 of shape (N, H, W, 3), or (N, H, W) in mode L."""

    name: str
    pixels: Any
    labels: Any
    mode: str
    names: Names = ()
    upright: bool = False

    def __len__(self) -> int:
        return len(self.pixels)


Part = Files | Ranges | Pixels


def files_of(name: str, root: Any, samples: Sequence[tuple[str, int]]) -> Files:
    try:
        paths = [absolute(path) for path, _ in samples]
        labels = labels_of([label for _, label in samples], name)
    except (TypeError, ValueError):
        raise keep(
            f"the samples of {name} are no pairs of a path and a label", "such pairs"
        ) from None
    others = [path for path in paths if not path.lower().endswith(ENDINGS)]
    if others:
        raise keep(
            f"the engine does not decode {others[0]!r} (nor {len(others) - 1:,} others)",
            "convert TIFF and PPM files to PNG",
        )
    return Files(name, os.path.abspath(root), paths, labels)


def absolute(path: Any) -> str:
    """Returns a path that names the same file after chdir(). "link/.." stays: os.path.abspath() would drop the link."""
    text = path if isinstance(path, str) else os.fsdecode(path)
    # Paths that are absolute stay the strings that the data set has: there may be millions.
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


def labels_of(values: Any, name: str) -> Any:
    import numpy as np

    if isinstance(values, list):
        kinds = {getattr(value, "dtype", type(value)) for value in values}
        # torch makes int64 of both. Other batches have the type of their own labels.
        if len(kinds) > 1 and kinds != {int, np.dtype(np.int64)}:
            raise keep(f"the labels of {name} have several types", "give all labels one type")
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (labels.size and labels.min() < 0):
        raise keep(f"the labels of {name} are not whole numbers from 0 on", "number the classes")
    return labels.astype(np.int64)


def check_package(function: Any) -> None:
    """Refuses a function that stands in the place of one of a library."""
    if is_foreign(function) and not is_own_hook(function):
        name = getattr(function, "__qualname__", repr(function))
        raise keep(
            f"{name} replaces a function of a data set's library",
            "leave it out",
            where_defined(function),
        )


def check_class(dataset: Any, kind: type) -> None:
    """It derives from `kind`, and does nothing else than that; its labels are the stored ones."""
    for name in ("__getitem__", "__getitems__", "__len__"):
        own = getattr(type(dataset), name, None)
        if own is not getattr(kind, name, None) or name in vars(dataset):
            raise keep(
                f"{type(dataset).__name__} overrides {name} of {kind.__name__}",
                f"{kind.__name__} itself, or tundish.pack(dataset, 'train.tnd')",
                where_defined(vars(dataset).get(name, own)),
            )
        if own is not None:
            check_package(own)
    if dataset.target_transform is not None:
        raise keep(
            "the data set has a target_transform, which only Python can run",
            "change the labels of the data set once, or those of the batch in the loop",
            where_defined(dataset.target_transform),
        )
