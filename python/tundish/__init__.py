"""Tundish makes PyTorch training faster and shows what slows it down.

    import tundish
    from tundish import transforms as T

    with tundish.doctor() as doctor:  # what slows down this loop?
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
    doctor                  shows what limits the speed of a training loop
    layers                  measures every layer of a model against the limits of the machine
    check                   finds lines that make a script slow or wrong, without running it
    tundish.diagnosis       the result classes of these functions, and a Lightning callback

Load data
    accelerate              makes an existing torch DataLoader faster
    Loader                  yields batches from a pack (a .tnd file), a folder or another dataset
    Dataset                 returns single samples, for torch's DataLoader
    DataSource              a path plus details that the files do not contain, such as the label's name
    Subset, Weighted, Balanced, Repeated, Mixture    sampling orders for Loader(order=...)
    Replayed                a batch of an earlier run, recreated by loader.replay()
    tundish.transforms      augmentations with the names and arguments of torchvision v2

Write data
    pack                    writes a dataset into one file that loads faster
    write_manifest          joins packs written by several machines into one dataset
    convert                 writes a dataset in another format

Train
    boost                   makes the changes of a saved boost.json in this process
    tune                    measures training tricks on a model and returns a Plan of the useful ones
    load_plan, Plan         load a saved plan and apply its tricks
    seed_everything         makes a run repeatable
    replace_data_parallel   runs one process per GPU for a script that uses nn.DataParallel
    tundish.optim           fused optimizers with the arguments of torch's and timm's optimizers
    tundish.tuning          single tricks; tools for memory, batch size and learning rate

Errors
    Error                   base class: invalid data, a missing file, an unsupported machine
    SampleError, ArgumentError, MissingError

The command `tundish` does most of this without Python code: see `tundish --help`.
"""

from typing import TYPE_CHECKING, Any

from ._c.errors import ArgumentError as ArgumentError
from ._c.errors import Error as Error
from ._c.errors import MissingError as MissingError
from ._c.errors import SampleError as SampleError
from ._c.library import version as _version
from ._lazy import lazy_names as _lazy_names
from .program import register_program as _register_program

if TYPE_CHECKING:  # "as": type checkers take these names as public
    from . import diagnosis as diagnosis
    from . import optim as optim
    from . import transforms as transforms
    from . import tuning as tuning
    from .boosting.apply import boost as boost
    from .converting import convert as convert
    from .data.data_source import DataSource as DataSource
    from .data.dataset import Dataset as Dataset
    from .data.loader import Loader as Loader
    from .data.order import Balanced as Balanced
    from .data.order import Mixture as Mixture
    from .data.order import Order as Order
    from .data.order import Repeated as Repeated
    from .data.order import Subset as Subset
    from .data.order import Weighted as Weighted
    from .data.replay import Replayed as Replayed
    from .diagnosis.context import doctor as doctor
    from .diagnosis.lint.check import check as check
    from .diagnosis.model_layers import layers as layers
    from .dropin.accelerate import accelerate as accelerate
    from .launch.data_parallel import replace_data_parallel as replace_data_parallel
    from .packing import pack as pack
    from .packing import write_manifest as write_manifest
    from .tuning.plan import Plan as Plan
    from .tuning.plan import load_plan as load_plan
    from .tuning.seeds import seed_everything as seed_everything
    from .tuning.tune import tune as tune

__version__ = _version()
_register_program()
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
    "boost": ".boosting.apply",
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
_SUBPACKAGES = ("diagnosis", "optim", "transforms", "tuning")
__all__ = sorted(
    ["ArgumentError", "Error", "MissingError", "SampleError", *_MODULES, *_SUBPACKAGES]
)
_import_name, __dir__ = _lazy_names(
    __name__,
    _MODULES,
    subpackages=_SUBPACKAGES,
    without_torch=[
        *[".data.", ".diagnosis.lint.", ".packing", ".converting"],
        *["diagnosis", "transforms", "tuning"],
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
