"""torch's DataLoaders of a script: where each is used, and which data set it reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .call_arguments import argument, has_unknown_arguments
from .libraries import device_of
from .parameters import given_for

if TYPE_CHECKING:
    from .script import Script

DATA_LOADER = "torch.utils.data.DataLoader"
DATASETS = {"torch.utils.data.Dataset", "torch.utils.data.IterableDataset"}
DATASETS |= {"torchvision.datasets.VisionDataset"}


def loader_calls(script: Script) -> list[ast.Call]:
    """Calls whose arguments are all known: no `**options`."""
    return [call for call in script.calls(DATA_LOADER) if not has_unknown_arguments(call)]


def origins(script: Script, expression: ast.expr | None, depth: int = 0) -> list[ast.Call]:
    """The calls that can have made a value: through variables, parameters and wrappers."""
    if expression is None or depth > 6:
        return []
    if isinstance(expression, ast.Call):
        name = script.name(expression.func)
        if name in ("enumerate", "iter", "tqdm.tqdm", "tqdm.auto.tqdm") and expression.args:
            return origins(script, expression.args[0], depth + 1)
        return [expression]
    found: list[ast.Call] = []
    for binding in script.bindings(expression):
        if binding.how == "parameter":
            for given in given_for(script, binding.statement, expression):
                found += origins(script, given, depth + 1)
        elif binding.how == "assign" and binding.value is not expression:
            found += origins(script, binding.value, depth + 1)
    return found


def loops_over(script: Script, loader: ast.Call) -> list[ast.For]:
    return [
        loop
        for loop in script.nodes(ast.For)
        if any(one is loader for one in origins(script, script.loops.iterated(loop.iter)))
    ]


def copies_to_gpu(script: Script, loader: ast.Call) -> list[ast.Call]:
    """`x.to(device)` and `x.cuda()` of batches of this loader, in loops over it."""
    return [
        call
        for loop in loops_over(script, loader)
        for call in script.inside(loop, ast.Call)
        if device_of(script, call) == "gpu"
        and isinstance(call.func, ast.Attribute)
        and script.values.of(call.func.value).kind == "batch"
    ]


def is_repeated(script: Script, loader: ast.Call) -> bool:
    """Whether the loader is iterated once per epoch: its loop, or the call of the function that has
    the loop, is inside another loop, and the loader was made outside that."""
    for loop in loops_over(script, loader):
        outer = script.loops_around(loop)
        if outer and not script.is_inside(loader, outer[-1]):
            return True
        function = script.function(loop)
        name = getattr(function, "name", "")
        if not name or script.is_inside(loader, function):
            continue
        for call in script.calls_named(name):
            around = script.loops_around(call)
            if around and not script.is_inside(loader, around[-1]):
                return True
    return False


def dataset_class(script: Script, loader: ast.Call) -> ast.ClassDef | None:
    """The class of this script whose object the loader reads."""
    for made in origins(script, argument(loader, "dataset", 0)):
        found = script.definition(made.func)
        if isinstance(found, ast.ClassDef):
            return found
    return None


def is_dataset_class(script: Script, node: ast.ClassDef) -> bool:
    return any(script.name(base) in DATASETS for base in node.bases)


def dataset_name(script: Script, loader: ast.Call) -> str:
    """The full name of the function or class that made the data set: torchvision.datasets.CIFAR10."""
    for made in origins(script, argument(loader, "dataset", 0)):
        name = script.name(made.func)
        if name:
            return name
    return ""


def method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == name:
            return one
    return None
