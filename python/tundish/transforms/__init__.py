"""The transforms: torchvision v2's names, arguments and defaults, carried out by the engine.

from tundish import transforms as T

transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()]
"""

from .base import Transform
from .geometry import (
    CenterCrop,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from .values import Normalize, ToDtype

__all__ = [
    "CenterCrop",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "Transform",
]
