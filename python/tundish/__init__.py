"""Tundish: packs image data sets into one file and feeds PyTorch from it.

import tundish
from tundish import transforms as T

loader = tundish.Loader("train.tnd", batch_size=256, shuffle=True, seed=0, transforms=[
    T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()])
for images, labels in loader:
    ...
"""

from typing import NoReturn

from . import transforms
from ._c.errors import ArgumentError, Error, MissingError, SampleError
from ._c.library import version as _version
from .data.dataset import Dataset
from .data.loader import Loader
from .data.order import Balanced, Mixture, Order, Repeated, Subset, Weighted
from .data.replay import Replayed
from .packing import pack

__version__ = _version()
__all__ = [
    "ArgumentError",
    "Balanced",
    "Dataset",
    "Error",
    "Loader",
    "MissingError",
    "Mixture",
    "Order",
    "Repeated",
    "Replayed",
    "SampleError",
    "Subset",
    "Weighted",
    "pack",
    "transforms",
]


def __getattr__(name: str) -> NoReturn:
    if name in transforms.__all__:
        raise AttributeError(
            f"tundish.{name} is now tundish.transforms.{name}: from tundish import transforms as T"
        )
    raise AttributeError(f"module 'tundish' has no attribute {name!r}")
