"""Determines whether a model behaves differently in training mode and eval mode."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .call_arguments import passed_arguments
from .loaders import origins

if TYPE_CHECKING:
    from .script import Script

_LAYERS: tuple[str, ...] = (
    "Dropout",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "BatchNorm",
    "LazyBatchNorm",
)
_LAYERS += ("SyncBatchNorm", "RReLU", "Transformer", "DropPath", "StochasticDepth")
# Libraries whose models almost always have layers that depend on the mode.
_LIBRARIES = ("torchvision.models.", "timm.create_model", "timm.models.", "torch.hub.load")
_WRAPPERS = ("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile")


def depends_on_mode(script: Script, model: ast.expr) -> bool:
    """Returns whether the model is known to have a mode-dependent layer, such as Dropout or BatchNorm.

    Models of common libraries count as mode-dependent. Returns False for a class that is imported from
    elsewhere, because it is unknown.
    """
    made = _creating_calls(script, model)
    return any(_depends(script, call) for call in made) or (not made and _has_layer(script))


def _creating_calls(script: Script, model: ast.expr) -> list[ast.Call]:
    """Returns the calls that may have created the model.

    Follows wrappers such as `model, optimizer = accelerator.prepare(model, optimizer)`.
    """
    given = [model]
    for binding in script.bindings(model):
        if binding.how == "parameter":
            given += passed_arguments(script, binding.statement, model)
    found: list[ast.Call] = []
    for expression in given:
        found += origins(script, expression)
        for binding in script.bindings(expression):
            value = binding.value
            if (
                binding.how == "item"
                and isinstance(value, ast.Call)
                and binding.index < len(value.args)
            ):
                found += origins(script, value.args[binding.index])
    return found


def _depends(script: Script, call: ast.Call, depth: int = 0) -> bool:
    name = script.name(call.func)
    if depth < 6 and (name in _WRAPPERS or _moves(call)):
        inner = (
            call.args[0] if name in _WRAPPERS and call.args else getattr(call.func, "value", None)
        )
        return any(_depends(script, inner_call, depth + 1) for inner_call in origins(script, inner))
    if name.startswith(_LIBRARIES):
        return True
    if name.startswith("transformers.") and name.endswith((".from_pretrained", ".from_config")):
        return True
    if name.startswith("torch.nn."):
        return any(_is_layer(script, node) for node in ast.walk(call) if isinstance(node, ast.Call))
    return isinstance(script.definition(call.func), ast.ClassDef) and _has_layer(script)


def _moves(call: ast.Call) -> bool:
    """Recognizes `Net().to(device)` and `Net().cuda()`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in (
        "to",
        "cuda",
        "train",
        "half",
    )


def _has_layer(script: Script) -> bool:
    return any(_is_layer(script, call) for call in script.nodes(ast.Call))


def _is_layer(script: Script, call: ast.Call) -> bool:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return last.startswith(_LAYERS) or script.name(call.func) == "torch.nn.functional.dropout"
