"""Finds the torch DataLoaders of a script, where each loader is used and which dataset it reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .call_arguments import argument, has_unknown_arguments, passed_arguments
from .libraries import target_device

if TYPE_CHECKING:
    from .script import Script

DATA_LOADER = "torch.utils.data.DataLoader"
DATASETS = {"torch.utils.data.Dataset", "torch.utils.data.IterableDataset"}
DATASETS |= {"torchvision.datasets.VisionDataset"}


def loader_calls(script: Script) -> list[ast.Call]:
    """Returns the DataLoader calls whose arguments are all known, that is, without `**options`."""
    return [call for call in script.calls(DATA_LOADER) if not has_unknown_arguments(call)]


def origins(script: Script, expression: ast.expr | None, depth: int = 0) -> list[ast.Call]:
    """Returns the calls that may have created a value. Follows variables, parameters and wrappers."""
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
            for given in passed_arguments(script, binding.statement, expression):
                found += origins(script, given, depth + 1)
        elif binding.how == "assign" and binding.value is not expression:
            found += origins(script, binding.value, depth + 1)
    return found


def loops_over(script: Script, loader: ast.Call) -> list[ast.For]:
    return [
        loop
        for loop in script.nodes(ast.For)
        if any(call is loader for call in origins(script, script.loops.loader_in(loop.iter)))
    ]


def copies_to_gpu(script: Script, loader: ast.Call) -> list[ast.Call]:
    """Returns the `x.to(device)` and `x.cuda()` calls on batches in loops over this loader."""
    return [
        call
        for loop in loops_over(script, loader)
        for call in script.inside(loop, ast.Call)
        if target_device(script, call) == "gpu"
        and isinstance(call.func, ast.Attribute)
        and script.values.infer(call.func.value).kind == "batch"
    ]


def is_iterated_per_epoch(script: Script, loader: ast.Call) -> bool:
    """Returns whether the loader is iterated once per epoch.

    The loop over the loader, or the call of the function with this loop, must be inside an outer loop.
    The loader must be created outside this outer loop.
    """
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
    """Returns the dataset class of the loader if this script defines it."""
    for made in origins(script, argument(loader, "dataset", 0)):
        found = script.definition(made.func)
        if isinstance(found, ast.ClassDef):
            return found
    return None


def dataset_name(script: Script, loader: ast.Call) -> str:
    """Returns the full name of the dataset's class, or of the function that creates the dataset.

    An example is torchvision.datasets.CIFAR10.
    """
    for made in origins(script, argument(loader, "dataset", 0)):
        name = script.name(made.func)
        if name:
            return name
    return ""


def method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return statement
    return None
