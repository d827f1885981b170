"""Detects layers that are created but never used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.libraries import MODULES
from ....script.loaders import method
from ....script.names import written
from ....script.published import loads_published_weights
from ..static_rule import Occurrence, StaticRule

_LAYERS = {
    "Linear",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "MultiheadAttention",
    "LayerNorm",
    "Bilinear",
}
_LAYERS |= {f"Conv{n}d" for n in (1, 2, 3)} | {f"ConvTranspose{n}d" for n in (1, 2, 3)}
_LAYERS |= {f"BatchNorm{n}d" for n in (1, 2, 3)} | {
    "GroupNorm",
    "Transformer",
    "LSTMCell",
    "GRUCell",
}
_REFLECTION = {"getattr", "vars", "hasattr"}
_ALL_CHILDREN = {
    "children",
    "modules",
    "named_children",
    "named_modules",
    "_modules",
    "__dict__",
    "get_submodule",
}


def find(script: Script) -> Iterator[Occurrence]:
    if any(script.name(call.func) in _REFLECTION for call in script.nodes(ast.Call)):
        return
    if any(node.attr in _ALL_CHILDREN for node in script.nodes(ast.Attribute)):
        return
    if loads_published_weights(script):
        return
    read = {node.attr for node in script.nodes(ast.Attribute) if isinstance(node.ctx, ast.Load)}
    strings = {node.value for node in script.nodes(ast.Constant) if isinstance(node.value, str)}
    for (owner, name), bindings in script.attributes.items():
        short = name.removeprefix("self.")
        if owner is None or short in read or not _is_complete(script, owner):
            continue
        if any(short in string for string in strings):
            continue
        for binding in bindings:
            value = binding.value
            if isinstance(value, ast.Call) and _is_layer(script, value) and binding.how == "assign":
                yield Occurrence(
                    value,
                    f"{name} is created but never used: its parameters use memory, also in the optimizer",
                    f"remove {name}; DistributedDataParallel fails on parameters without gradients",
                )


def _is_layer(script: Script, value: ast.Call) -> bool:
    name = script.name(value.func)
    return name.startswith("torch.nn.") and name.removeprefix("torch.nn.") in _LAYERS


def _is_complete(script: Script, owner: ast.ClassDef) -> bool:
    """Returns whether all uses of the class's layers are in this file.

    The class must derive from nn.Module alone, define forward(), be no base class of another class, and
    be instantiated in this file. If a file only defines models, other files may use their layers.
    """
    if [script.name(base) in MODULES for base in owner.bases] != [True]:
        return False
    if method(owner, "forward") is None or not script.calls_named(owner.name):
        return False
    bases = {written(base) for other in script.nodes(ast.ClassDef) for base in other.bases}
    return owner.name not in bases


RULE = StaticRule(
    id="unused-module",
    title="a layer is created but never used",
    level="warning",
    reason="The layer is initialized, moved to the GPU, saved in every checkpoint and kept by the optimizer. "
    "DistributedDataParallel fails with an error about parameters without gradients.",
    fix="Remove it, or use it in forward().",
    before="self.extra = nn.Linear(512, 512)  # forward() never reads self.extra",
    after="",
    find=find,
    silent="files that do not instantiate the class, classes that others derive from, scripts that "
    "access attributes by name (getattr, children()), models that load published weights, which contain the layer",
)
