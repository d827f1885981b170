"""Images decoded in the training process: num_workers is 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.call_arguments import argument
from ....lint.script.loaders import (
    dataset_class,
    dataset_name,
    loader_calls,
    loops_over,
    method,
    origins,
)
from ..static_rule import Check, Found

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


def find(script: Script) -> Iterator[Found]:
    for loader in loader_calls(script):
        workers = argument(loader, "num_workers", 5)
        if workers is not None and script.constant(workers) != 0:
            continue
        trains = any(
            any(loop is one for one in script.loops.training) for loop in loops_over(script, loader)
        )
        work = _work(script, loader) if trains else ""
        if work:
            yield Found(
                loader,
                f"the training loop itself {work}: num_workers is 0",
                "num_workers=4 and persistent_workers=True, or tundish.Loader with a pack"
                + _needed_by_spawn(script, loader),
            )


def _needed_by_spawn(script: Script, loader: ast.Call) -> str:
    """What spawned workers ask of a script: macOS, Windows and Python 3.14 do not fork them."""
    needed = []
    if script.function(loader) is script.tree and not script.in_main_guard(loader):
        needed.append('if __name__ == "__main__": around the training')
    if any(_has_lambda(script, made) for made in origins(script, argument(loader, "dataset", 0))):
        needed.append("a function of the module in place of each lambda")
    return f"; workers that are spawned, not forked, need {' and '.join(needed)}" if needed else ""


def _has_lambda(script: Script, made: ast.Call) -> bool:
    """Whether an argument of the data set holds a lambda, which cannot be pickled."""
    given = [*made.args, *(keyword.value for keyword in made.keywords)]
    calls = [call for one in given for call in origins(script, one)]
    return any(isinstance(node, ast.Lambda) for one in [*given, *calls] for node in ast.walk(one))


def _work(script: Script, loader: ast.Call) -> str:
    """What one sample costs, if that is worth a worker."""
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


CHECK = Check(
    id="no-workers",
    title="samples are read from files by the training process itself",
    level="warning",
    why="With num_workers=0 the GPU is idle while the training process reads and decodes the next batch.",
    remedy="num_workers=4 to begin with. tundish.Loader does this work on threads, without processes.",
    before='loader = DataLoader(ImageFolder("photos"), batch_size=64)',
    after='loader = DataLoader(ImageFolder("photos"), batch_size=64, num_workers=4, persistent_workers=True)',
    find=find,
    silent="data sets in memory (TensorDataset, CIFAR-10, lists), num_workers from a variable",
)
