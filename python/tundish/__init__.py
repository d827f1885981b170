"""Tundish: packs image data sets into one file and feeds PyTorch from it.

import tundish
from tundish import transforms as T

loader = tundish.Loader("train.tnd", batch_size=256, shuffle=True, seed=0, transforms=[
    T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()])
for images, labels in loader:
    ...
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import transforms
from ._c.errors import ArgumentError, Error, MissingError, SampleError
from ._c.library import version as _version
from .converting import convert
from .data.data_source import DataSource
from .data.dataset import Dataset
from .data.loader import Loader
from .data.order import Balanced, Mixture, Order, Repeated, Subset, Weighted
from .data.replay import Replayed
from .packing import pack, write_manifest
from .program import tell_library as _tell_library

if TYPE_CHECKING:
    from . import optim
    from .diagnosis.checking.check import check
    from .diagnosis.doctor.context import doctor
    from .diagnosis.layers.layers import layers
    from .dropin.accelerate import accelerate
    from .launch.data_parallel import replace_data_parallel
    from .tuning.plan import Plan, load_plan
    from .tuning.seeds import seed_everything
    from .tuning.tune import tune

__version__ = _version()
_tell_library()
__all__ = [
    "ArgumentError",
    "Balanced",
    "DataSource",
    "Dataset",
    "Error",
    "Loader",
    "MissingError",
    "Mixture",
    "Order",
    "Plan",
    "Repeated",
    "Replayed",
    "SampleError",
    "Subset",
    "Weighted",
    "accelerate",
    "check",
    "convert",
    "doctor",
    "layers",
    "load_plan",
    "optim",
    "pack",
    "replace_data_parallel",
    "seed_everything",
    "transforms",
    "tune",
    "write_manifest",
]

# What needs torch or is seldom used, imported when it is first used.
_LATER = {
    "Plan": ".tuning.plan",
    "accelerate": ".dropin.accelerate",
    "check": ".diagnosis.checking.check",
    "doctor": ".diagnosis.doctor.context",
    "layers": ".diagnosis.layers.layers",
    "load_plan": ".tuning.plan",
    "replace_data_parallel": ".launch.data_parallel",
    "seed_everything": ".tuning.seeds",
    "tune": ".tuning.tune",
}


def __getattr__(name: str) -> Any:
    if name == "optim":
        return importlib.import_module(".optim", __name__)
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    if name in transforms.__all__:
        raise AttributeError(
            f"tundish.{name} is now tundish.transforms.{name}: from tundish import transforms as T"
        )
    raise AttributeError(f"module 'tundish' has no attribute {name!r}")
