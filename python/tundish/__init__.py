"""Tundish: packs image data sets into one file and feeds PyTorch from it.

import tundish

loader = tundish.Loader("train.tnd", batch_size=256, shuffle=True, seed=0, transforms=[
    tundish.RandomResizedCrop(224), tundish.RandomHorizontalFlip(), tundish.Normalize()])
for images, labels in loader:
    ...
"""

from ._library import ArgumentError, Error, MissingError, SampleError
from ._library import version as _version
from .dataset import Dataset
from .loader import Loader
from .order import Balanced, Mixture, Order, Repeated, Subset, Weighted
from .replay import Replayed
from .transforms import (
    CenterCrop,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    ToDtype,
    Transform,
)

__version__ = _version()
__all__ = [
    "ArgumentError",
    "Balanced",
    "CenterCrop",
    "Dataset",
    "Error",
    "Loader",
    "MissingError",
    "Mixture",
    "Normalize",
    "Order",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Repeated",
    "Replayed",
    "Resize",
    "SampleError",
    "Subset",
    "ToDtype",
    "Transform",
    "Weighted",
]
