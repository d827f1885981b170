"""Whether a model gives other results in training mode than in eval mode."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .loaders import origins
from .parameters import given_for

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
# Libraries whose models have such layers, nearly all of them.
_LIBRARIES = ("torchvision.models.", "timm.create_model", "timm.models.", "torch.hub.load")
_WRAPPERS = ("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile")


def depends_on_mode(script: Script, model: ast.expr) -> bool:
    """True if the script shows it: a layer such as Dropout or BatchNorm, or a model of a library that has them.

    False for a class that is imported from elsewhere: nothing here says what is in it."""
    made = _makers(script, model)
    return any(_depends(script, call) for call in made) or (not made and _has_layer(script))


def _makers(script: Script, model: ast.expr) -> list[ast.Call]:
    """The calls that can have made the model, also before `model, optimizer = accelerator.prepare(model, optimizer)`."""
    given = [model]
    for binding in script.bindings(model):
        if binding.how == "parameter":
            given += given_for(script, binding.statement, model)
    found: list[ast.Call] = []
    for one in given:
        found += origins(script, one)
        for binding in script.bindings(one):
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
        return any(_depends(script, one, depth + 1) for one in origins(script, inner))
    if name.startswith(_LIBRARIES):
        return True
    if name.startswith("transformers.") and name.endswith((".from_pretrained", ".from_config")):
        return True
    if name.startswith("torch.nn."):
        return any(_is_layer(script, one) for one in ast.walk(call) if isinstance(one, ast.Call))
    return isinstance(script.definition(call.func), ast.ClassDef) and _has_layer(script)


def _moves(call: ast.Call) -> bool:
    """`Net().to(device)`, `Net().cuda()`."""
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
