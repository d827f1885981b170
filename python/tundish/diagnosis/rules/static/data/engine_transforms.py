"""Detects transforms that Tundish can run in C++."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..... import transforms
from ....script import Script
from ....script.call_arguments import argument
from ....script.loaders import dataset_name, loader_calls, loops_over, origins
from ..static_rule import Occurrence, StaticRule

_COMPOSE = ("torchvision.transforms.Compose", "torchvision.transforms.v2.Compose")
_DONE_BY_LOADING = {"ToTensor", "PILToTensor", "ToImage", "ToDtype", "ConvertImageDtype"}


def find(script: Script) -> Iterator[Occurrence]:
    for loader in loader_calls(script):
        if not dataset_name(script, loader).startswith("torchvision.datasets.ImageFolder"):
            continue
        if not any(loop in script.loops.training for loop in loops_over(script, loader)):
            continue
        for made in origins(script, argument(loader, "dataset", 0)):
            for compose in origins(script, argument(made, "transform", 1)):
                names = _transforms(script, compose)
                if names and all(
                    hasattr(transforms, name) or name in _DONE_BY_LOADING for name in names
                ):
                    yield Occurrence(
                        compose,
                        f"Tundish has all {len(names)} of these transforms in C++, with the same pixels",
                        "tundish pack FOLDER -o train.tnd, then tundish.Loader (docs/migrate-from-dataloader.md)",
                    )


def _transforms(script: Script, compose: ast.Call) -> list[str]:
    """Returns the names of the transforms. Returns an empty list if one is not from torchvision."""
    if script.name(compose.func) not in _COMPOSE or not compose.args:
        return []
    steps: ast.expr | None = compose.args[0]
    bindings = script.bindings(compose.args[0])
    if len(bindings) == 1 and bindings[0].how == "assign":
        steps = bindings[0].value
    if not isinstance(steps, ast.List):
        return []
    names = [
        script.name(element.func) if isinstance(element, ast.Call) else "" for element in steps.elts
    ]
    if not all(name.startswith("torchvision.transforms.") for name in names):
        return []
    return [name.rpartition(".")[2] for name in names]


RULE = StaticRule(
    id="engine-transforms",
    title="transforms that Tundish has in C++",
    level="note",
    reason="torchvision transforms Pillow images in Python worker processes. Tundish decodes and transforms "
    "them on C++ threads, with Pillow's pixels.",
    fix="Pack the folder once and train from the pack: docs/migrate-from-dataloader.md.",
    before="augment = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])\n"
    'data = ImageFolder("photos", augment)',
    after='tundish.Loader("train.tnd", batch_size=64, transforms=[T.RandomResizedCrop(224), T.Normalize()])',
    find=find,
    silent="datasets other than ImageFolder, lists with custom transforms",
)
