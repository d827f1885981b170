"""timm's optimizers: Python around torch's operations, tensor by tensor.

Loads only the files in timm/optim, one by one. The optimizers only need torch, but the package timm
imports timm.models, which needs torchvision. A copy of FOLDER/timm/optim/*.py is therefore enough, with
FOLDER/timm/version.py for the version.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .contestant import Contestant, Entry, LeftOut
from .jobs import Job

NAME = "timm"
CLASSES = {"lars": "Lars", "lamb": "Lamb", "lion": "Lion", "novograd": "NvNovoGrad"}
PACKAGE = "bench_timm_optim"  # not timm.optim, because importing that name runs timm/__init__.py

_folders: list[Path] = []  # folders given with --timm


def use(folder: Path) -> None:
    """Sets the folder from which to load timm. It must contain timm/optim."""
    _folders[:] = [folder / "timm"]


def find() -> Path:
    """Returns the folder of the timm package, without importing the package."""
    if not _folders:
        spec = importlib.util.find_spec("timm")
        if spec is None or not spec.submodule_search_locations:
            raise LeftOut("timm is not installed; --timm FOLDER takes a copy of timm/optim")
        _folders.append(Path(spec.submodule_search_locations[0]))
    if not (_folders[0] / "optim").is_dir():
        raise LeftOut("the folder of --timm holds no timm/optim")
    return _folders[0]


def version() -> str:
    """Returns timm's version, or "" if timm is missing."""
    try:
        file = find() / "version.py"
    except LeftOut:
        return ""
    found = re.search(r"__version__ = ['\"](.*)['\"]", file.read_text()) if file.is_file() else None
    return found[1] if found else "unknown"


def class_of(name: str) -> Any:
    if PACKAGE not in sys.modules:
        package = ModuleType(PACKAGE)
        package.__path__ = [str(find() / "optim")]
        sys.modules[PACKAGE] = package
    return getattr(importlib.import_module(f"{PACKAGE}.{name.lower()}"), name)


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    more: dict[str, Any] = {}
    if job.kind == "lamb":
        more = {"max_grad_norm": job.max_norm or None}
    if job.kind == "novograd":
        more = {"grad_averaging": True}
    optimizer = class_of(CLASSES[job.kind])(parameters, **job.arguments, **more)
    return Contestant(parameters, optimizer.step)


CONTESTANTS = [
    Entry(
        NAME,
        ("lars", "lamb", "lamb_clip", "lion", "novograd"),
        make,
        no_graph={"novograd": "it reads a number of the GPU on the host in every step"},
        writes_gradients=("lars", "novograd"),
    )
]
