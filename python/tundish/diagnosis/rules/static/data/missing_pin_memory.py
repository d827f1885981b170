"""Detects batches that are copied to the GPU from unpinned memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ....script.libraries import device_named_by, target_device
from ....script.loaders import copies_to_gpu, loader_calls, loops_over, origins
from ..static_rule import Occurrence, StaticRule


def find(script: Script) -> Iterator[Occurrence]:
    if script.methods("pin_memory"):
        return
    for loader in loader_calls(script):
        pinned = argument(loader, "pin_memory")
        if pinned is not None and not is_literal(pinned, False):
            continue
        copies = copies_to_gpu(script, loader)
        trains = any(
            any(loop is training for training in script.loops.training)
            for loop in loops_over(script, loader)
        )
        if not copies or not trains or _yields_gpu_batches(script, loader):
            continue
        if any(argument(copy, "non_blocking") is not None for copy in copies):
            continue  # the check pageable-non-blocking reports this
        yield Occurrence(
            loader,
            f"batches of this loader are copied to the GPU ({script.line_text(copies[0])}) from unpinned memory",
            "DataLoader(..., pin_memory=True), and non_blocking=True in the copy",
        )


def _yields_gpu_batches(script: Script, loader: ast.Call) -> bool:
    """Returns whether the dataset (its arguments or class) or collate_fn puts data on a GPU."""
    dataset = argument(loader, "dataset", 0)
    if dataset is not None and script.values.is_gpu_tensor(dataset):
        return True
    parts: list[ast.AST] = []
    for made in origins(script, dataset):
        given = [*made.args, *(keyword.value for keyword in made.keywords)]
        if any(script.values.is_gpu_tensor(_unstarred(value)) for value in given):
            return True
        parts += [made, *_definition(script, made.func)]
    collate = argument(loader, "collate_fn", 6)
    if collate is not None:
        parts += [collate, *_definition(script, collate)]
    return any(_puts_on_gpu(script, node) for part in parts for node in ast.walk(part))


def _unstarred(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Starred) else value


def _definition(script: Script, expression: ast.expr) -> list[ast.AST]:
    found = script.definition(expression)
    if found is None and isinstance(expression, ast.Name):
        values = [binding.value for binding in script.bindings(expression)]
        return [value for value in values if isinstance(value, ast.Lambda | ast.Call)]
    return [found] if found is not None else []


def _puts_on_gpu(script: Script, node: ast.AST) -> bool:
    """Returns whether a call moves a tensor to a GPU or names a GPU in an argument."""
    if not isinstance(node, ast.Call):
        return False
    if target_device(script, node) == "gpu":
        return True
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    # Numbers are excluded, because device_named_by() would treat any number as the index of a GPU.
    devices = [value for value in given if not isinstance(script.constant(value), int)]
    return any(device_named_by(script, value) == "gpu" for value in devices)


RULE = StaticRule(
    id="missing-pin-memory",
    title="a training loader without pin_memory=True",
    level="warning",
    reason="From pinned memory, the GPU copies a batch at the full PCIe rate while other work continues.",
    fix="Set pin_memory=True in the DataLoader and non_blocking=True in the copy.",
    before="loader = DataLoader(dataset, batch_size=64)\nfor x, y in loader:\n    x = x.to(device)",
    after="loader = DataLoader(dataset, batch_size=64, pin_memory=True)\n"
    "for x, y in loader:\n    x = x.to(device, non_blocking=True)",
    find=find,
    only_gpu=True,
    silent="loaders whose batches this script does not copy to a GPU, or whose arguments are partly unknown; "
    "datasets and collate functions that put data on a GPU",
)
