"""Detects layers with a bias that the following batch norm cancels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ....script import Script
from ....script.call_arguments import argument, has_unknown_arguments, is_literal
from ....script.names import written
from ....script.published import loads_published_weights
from ....script.rewrite import rewritten
from ..static_rule import Occurrence, StaticRule

_NORMS = {f"torch.nn.BatchNorm{n}d" for n in (1, 2, 3)} | {"torch.nn.SyncBatchNorm"}
_POSITION = {"torch.nn.Linear": 2}  # position of the `bias` argument
_POSITION |= {f"torch.nn.Conv{n}d": 7 for n in (1, 2, 3)}
_POSITION |= {f"torch.nn.ConvTranspose{n}d": 7 for n in (1, 2, 3)}


def find(script: Script) -> Iterator[Occurrence]:
    layers = [*_followed_in_lists(script), *_followed_in_forward(script)]
    if layers and not loads_published_weights(script):
        yield from (_found(script, layer) for layer in layers)


def _found(script: Script, layer: ast.Call) -> Occurrence:
    return Occurrence(
        layer,
        f"the batch norm after {script.text(layer.func)} removes its bias",
        _without_bias(script, layer),
    )


def _without_bias(script: Script, layer: ast.Call) -> str:
    """Returns the call with bias=False added and all other arguments kept."""
    position = _POSITION[script.name(layer.func)]
    if len(layer.args) <= position:
        return rewritten(layer, changed={"bias": "False"})
    before, after = layer.args[:position], layer.args[position + 1 :]
    return rewritten(ast.Call(layer.func, [*before, ast.Constant(False), *after], layer.keywords))


def _has_bias(script: Script, layer: ast.AST) -> bool:
    if not isinstance(layer, ast.Call) or has_unknown_arguments(layer):
        return False
    position = _POSITION.get(script.name(layer.func))
    if position is None:
        return False
    bias = argument(layer, "bias", position)
    return bias is None or is_literal(bias, True)


def _followed_in_lists(script: Script) -> Iterator[ast.Call]:
    """Yields layers followed by a norm in nn.Sequential(...) or in a list of layers."""
    rows: list[list[ast.expr]] = [call.args for call in script.calls("torch.nn.Sequential")]
    rows += [node.elts for node in script.nodes(ast.List)]
    for row in rows:
        for layer, norm in pairwise(row):
            is_norm = isinstance(norm, ast.Call) and script.name(norm.func) in _NORMS
            if is_norm and isinstance(layer, ast.Call) and _has_bias(script, layer):
                yield layer


def _followed_in_forward(script: Script) -> Iterator[ast.Call]:
    """Yields layers in `self.norm(self.layer(x))` that are created once and used once."""
    for outer in script.nodes(ast.Call):
        norm = _only_value(script, outer.func)
        if norm is None or script.name(norm.func) not in _NORMS or len(outer.args) != 1:
            continue
        inner = outer.args[0]
        if isinstance(inner, ast.Name):
            bindings = script.reaching(inner)
            before = (
                bindings[0].value if len(bindings) == 1 and bindings[0].how == "assign" else None
            )
            if before is None or not _used_once(script, inner, outer):
                continue
            inner = before
        if not isinstance(inner, ast.Call):
            continue
        layer = _only_value(script, inner.func)
        if layer is not None and _has_bias(script, layer) and _uses(script, inner.func) == 1:
            yield layer


def _only_value(script: Script, attribute: ast.expr) -> ast.Call | None:
    """Returns the call that created self.conv, if there is exactly one."""
    if not isinstance(attribute, ast.Attribute) or not written(attribute).startswith("self."):
        return None
    bindings = script.attribute_bindings(attribute)
    value = bindings[0].value if len(bindings) == 1 else None
    return value if isinstance(value, ast.Call) else None


def _uses(script: Script, attribute: ast.expr) -> int:
    name, owner = written(attribute), script.enclosing_class(attribute)
    return sum(
        isinstance(node.ctx, ast.Load)
        and written(node) == name
        and script.enclosing_class(node) is owner
        for node in script.nodes(ast.Attribute)
    )


def _used_once(script: Script, name: ast.Name, norm: ast.Call) -> bool:
    """Returns whether nothing else reads x in `x = conv(x); x = norm(x)`."""
    layer = script.reaching(name)[0].statement
    return not any(
        node.id == name.id and node is not name and layer.end_lineno < node.lineno <= norm.lineno  # type: ignore[attr-defined]
        for node in script.inside(script.function(norm), ast.Name)
        if isinstance(node.ctx, ast.Load)
    )


RULE = StaticRule(
    id="bias-before-norm",
    title="a bias before batch norm",
    level="warning",
    reason="Batch norm subtracts the mean of each channel, which removes any bias of the previous layer. The bias costs a "
    "gradient, optimizer state and memory traffic in each step without any effect.",
    fix="Set bias=False in the layer before the norm. In an old checkpoint, subtract the bias from the norm's running_mean and "
    "remove the key.",
    before="nn.Conv2d(64, 128, 3), nn.BatchNorm2d(128)",
    after="nn.Conv2d(64, 128, 3, bias=False), nn.BatchNorm2d(128)",
    find=find,
    silent="layers that are also used elsewhere; a bias from a variable; other norms; models that load published weights, which "
    "contain the bias",
)
