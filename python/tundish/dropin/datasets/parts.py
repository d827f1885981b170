"""Parts of a dataset: samples in one of the three forms that the engine can read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...transforms.unmodified import is_foreign, is_own_hook
from ..reasons import not_translated
from ..where_defined import where_defined

# Formats that the engine decodes to the same pixels as Pillow (docs/sources.md).
ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif")


# The columns of a batch that is a dict: (name, whether it holds the images). Empty if a batch is a list.
Names = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Files:
    """Images in separate files."""

    name: str  # name of the dataset, for the report
    root: str
    paths: list[str]
    labels: Any  # int64
    mode: str = "RGB"
    names: Names = ()
    upright: bool = False  # whether images are rotated by their EXIF orientation

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class Ranges:
    """Images inside larger files, such as Arrow files."""

    name: str
    paths: list[str]  # file of each image
    offsets: Any  # int64 offset of each image in its file
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
        raise not_translated(
            f"the samples of {name} are not pairs of a path and a label", "use such pairs"
        ) from None
    others = [path for path in paths if not path.lower().endswith(ENDINGS)]
    if others:
        raise not_translated(
            f"the engine does not decode {others[0]!r} (and {len(others) - 1:,} more)",
            "convert TIFF and PPM files to PNG",
        )
    return Files(name, os.path.abspath(root), paths, labels)


def absolute(path: Any) -> str:
    """Returns a path that names the same file after chdir(). Keeps "link/..", unlike os.path.abspath()."""
    text = path if isinstance(path, str) else os.fsdecode(path)
    # Absolute paths are not copied, because there may be millions.
    return text if text.startswith("/") else os.path.join(os.getcwd(), text)


def by_index(values: Any) -> Any:
    """Returns the values in the order of indices 0, 1, ... Iterating over a pandas.Series has another order."""
    package = type(values).__module__.partition(".")[0]
    if package in ("builtins", "numpy", "torch", "array", "collections"):
        return values
    return [values[index] for index in range(len(values))]


def labels_of(values: Any, name: str) -> Any:
    import numpy as np

    if isinstance(values, list):
        kinds = {getattr(value, "dtype", type(value)) for value in values}
        # torch collates these two types to int64. With other types, the dtype of a batch depends on its labels.
        if len(kinds) > 1 and kinds != {int, np.dtype(np.int64)}:
            raise not_translated(
                f"the labels of {name} have several types", "give all labels one type"
            )
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (labels.size and labels.min() < 0):
        raise not_translated(
            f"the labels of {name} are not whole numbers from 0 on", "number the classes"
        )
    return labels.astype(np.int64)


def check_package(function: Any) -> None:
    """Refuses a library function that the user's code has replaced."""
    if is_foreign(function) and not is_own_hook(function):
        name = getattr(function, "__qualname__", repr(function))
        raise not_translated(
            f"{name} replaces a library function of a dataset",
            "leave it out",
            where_defined(function),
        )


def check_overrides(dataset: Any, kind: type) -> None:
    """Checks that a dataset behaves like `kind` and returns its stored labels."""
    for name in ("__getitem__", "__getitems__", "__len__"):
        own = getattr(type(dataset), name, None)
        if own is not getattr(kind, name, None) or name in vars(dataset):
            raise not_translated(
                f"{type(dataset).__name__} overrides {name} of {kind.__name__}",
                f"use {kind.__name__} itself, or tundish.pack(dataset, 'train.tnd')",
                where_defined(vars(dataset).get(name, own)),
            )
        if own is not None:
            check_package(own)
    if dataset.target_transform is not None:
        raise not_translated(
            "the dataset has a target_transform, which only Python can run",
            "change the labels of the dataset once, or the labels of the batch in the loop",
            where_defined(dataset.target_transform),
        )
