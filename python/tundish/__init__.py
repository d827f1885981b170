"""Tundish makes PyTorch training faster and shows what slows it down.

    import tundish
    from tundish import transforms as T

    with tundish.doctor() as doctor:  # what limits the step of this loop?
        train(model, dataloader)
    print(doctor.verdict)

    dataloader = tundish.accelerate(dataloader)  # one changed line, faster batches

    augment = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()]
    tundish.pack("photos", "train.tnd")
    loader = tundish.Loader("train.tnd", batch_size=256, shuffle=True, seed=0, transforms=augment)

    plan = tundish.tune("train.py:build")  # which tricks make the step faster?
    step = plan.apply(model, optimizer, loss_fn)
    for images, labels in loader:
        loss = step((images, labels))

Diagnose
    doctor                  shows what limits the step of a training loop
    layers                  measures every layer of a model against the limits of the machine
    check                   finds lines that make a script slow or wrong, without running it
    tundish.diagnosis       results of these functions, and the doctor as a callback

Load data
    accelerate              makes an existing torch DataLoader faster
    Loader                  yields batches of a pack, a folder or another dataset
    Dataset                 returns single samples, for torch's DataLoader
    DataSource              a path with facts that the files do not contain
    Subset, Weighted, Balanced, Repeated, Mixture    orders of samples, for Loader(order=...)
    Replayed                a batch of an earlier run, made again by loader.replay()
    tundish.transforms      augmentations with the names and arguments of torchvision v2

Write data
    pack                    writes a dataset into one file, which loads faster
    write_manifest          lists packs written by several machines
    convert                 writes a dataset in another format

Train
    tune                    measures training tricks on a model; returns a Plan of those that pay off
    load_plan, Plan         apply the tricks of a saved plan
    seed_everything         makes a run repeatable
    replace_data_parallel   one process per GPU for a script that uses nn.DataParallel
    tundish.optim           optimizers that take a single pass over memory
    tundish.tuning          single tricks, memory, batch size and learning rate

Errors
    Error                   base class: wrong data, a missing file, an unsupported machine
    SampleError, ArgumentError, MissingError

The command `tundish` does most of this without Python code: see `tundish --help`.
"""

from typing import TYPE_CHECKING, Any

from ._c.errors import ArgumentError, Error, MissingError, SampleError
from ._c.library import version as _version
from ._lazy import lazy_names as _lazy_names
from .program import register_program as _register_program

if TYPE_CHECKING:
    from . import diagnosis, optim, transforms, tuning
    from .converting import convert
    from .data.data_source import DataSource
    from .data.dataset import Dataset
    from .data.loader import Loader
    from .data.order import Balanced, Mixture, Order, Repeated, Subset, Weighted
    from .data.replay import Replayed
    from .diagnosis.context import doctor
    from .diagnosis.lint.check import check
    from .diagnosis.model_layers import layers
    from .dropin.accelerate import accelerate
    from .launch.data_parallel import replace_data_parallel
    from .packing import pack, write_manifest
    from .tuning.plan import Plan, load_plan
    from .tuning.seeds import seed_everything
    from .tuning.tune import tune

__version__ = _version()
_register_program()
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
    "diagnosis",
    "doctor",
    "layers",
    "load_plan",
    "optim",
    "pack",
    "replace_data_parallel",
    "seed_everything",
    "transforms",
    "tune",
    "tuning",
    "write_manifest",
]

_MODULES = {
    "Balanced": ".data.order",
    "DataSource": ".data.data_source",
    "Dataset": ".data.dataset",
    "Loader": ".data.loader",
    "Mixture": ".data.order",
    "Order": ".data.order",
    "Plan": ".tuning.plan",
    "Repeated": ".data.order",
    "Replayed": ".data.replay",
    "Subset": ".data.order",
    "Weighted": ".data.order",
    "accelerate": ".dropin.accelerate",
    "check": ".diagnosis.lint.check",
    "convert": ".converting",
    "doctor": ".diagnosis.context",
    "layers": ".diagnosis.model_layers",
    "load_plan": ".tuning.plan",
    "pack": ".packing",
    "replace_data_parallel": ".launch.data_parallel",
    "seed_everything": ".tuning.seeds",
    "tune": ".tuning.tune",
    "write_manifest": ".packing",
}
_import_name, __dir__ = _lazy_names(
    __name__,
    _MODULES,
    subpackages=["diagnosis", "optim", "transforms", "tuning"],
    without_torch=[
        "Balanced",
        "DataSource",
        "Dataset",
        "Loader",
        "Mixture",
        "Order",
        "Repeated",
        "Replayed",
        "Subset",
        "Weighted",
        "check",
        "convert",
        "diagnosis",
        "pack",
        "transforms",
        "tuning",
        "write_manifest",
    ],
)


def __getattr__(name: str) -> Any:
    try:
        return _import_name(name)
    except AttributeError:
        if name.startswith("_") or name not in _import_name("transforms").__all__:
            raise
    raise AttributeError(
        f"tundish.{name} is tundish.transforms.{name}: from tundish import transforms as T"
    )
