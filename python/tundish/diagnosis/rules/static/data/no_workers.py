"""Detects num_workers=0 if the training process itself then reads and decodes images."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument
from ....script.loaders import (
    dataset_class,
    dataset_name,
    loader_calls,
    loops_over,
    method,
    origins,
)
from ..static_rule import Occurrence, StaticRule

_READS = {
    "PIL.Image.open",
    "cv2.imread",
    "torchvision.io.read_image",
    "torchvision.io.decode_image",
}
_READS |= {
    "imageio.imread",
    "skimage.io.imread",
    "numpy.load",
    "torchaudio.load",
    "open",
    "h5py.File",
}
_READS |= {
    "torchvision.datasets.folder.default_loader",
    "torchvision.io.read_video",
    "soundfile.read",
}


def find(script: Script) -> Iterator[Occurrence]:
    for loader in loader_calls(script):
        workers = argument(loader, "num_workers", 5)
        if workers is not None and script.constant(workers) != 0:
            continue
        trains = any(
            any(loop is training for training in script.loops.training)
            for loop in loops_over(script, loader)
        )
        work = _work(script, loader) if trains else ""
        if work:
            yield Occurrence(
                loader,
                f"the training loop itself {work}: num_workers is 0",
                "use num_workers=4 and persistent_workers=True, or tundish.Loader with a pack"
                + _spawn_requirements(script, loader),
            )


def _spawn_requirements(script: Script, loader: ast.Call) -> str:
    """Returns what the script must change if workers are spawned, as on macOS, Windows and Python 3.14."""
    needed = []
    if script.function(loader) is script.tree and not script.in_main_guard(loader):
        needed.append('if __name__ == "__main__": around the training')
    if any(_has_lambda(script, made) for made in origins(script, argument(loader, "dataset", 0))):
        needed.append("a module-level function instead of each lambda")
    return (
        f"; spawned workers (instead of forked ones) need {' and '.join(needed)}" if needed else ""
    )


def _has_lambda(script: Script, made: ast.Call) -> bool:
    """Returns whether an argument of the dataset contains a lambda, which cannot be pickled."""
    given = [*made.args, *(keyword.value for keyword in made.keywords)]
    calls = [call for arg in given for call in origins(script, arg)]
    return any(isinstance(node, ast.Lambda) for root in [*given, *calls] for node in ast.walk(root))


def _work(script: Script, loader: ast.Call) -> str:
    """Describes the work for one sample. Returns "" if there is little work."""
    if dataset_name(script, loader).startswith("torchvision.datasets.ImageFolder"):
        return "reads and decodes the images"
    made_by = dataset_class(script, loader)
    getter = method(made_by, "__getitem__") if made_by is not None else None
    if getter is None:
        return ""
    for call in script.inside(getter, ast.Call):
        name = script.name(call.func)
        if name in _READS:
            return f"calls {script.text(call.func)} for every sample"
    return ""


RULE = StaticRule(
    id="no-workers",
    title="the training process itself reads samples from files",
    level="warning",
    reason="With num_workers=0 the GPU is idle while the training process reads and decodes the next batch.",
    fix="Start with num_workers=4. tundish.Loader does this work on threads, without processes.",
    before='loader = DataLoader(ImageFolder("photos"), batch_size=64)',
    after='loader = DataLoader(ImageFolder("photos"), batch_size=64, num_workers=4, persistent_workers=True)',
    find=find,
    silent="datasets in memory (TensorDataset, CIFAR-10, lists), num_workers from a variable",
)
