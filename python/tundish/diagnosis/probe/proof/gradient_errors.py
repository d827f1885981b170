"""Compares the gradients and updates of one step with those of the first, unchanged run."""

from __future__ import annotations

import math
import sys
from typing import Any

from .proof_facts import GradientFacts

# Root mean square of a parameter's gradient, relative to that of all gradients, below which it is only
# rounding, as of a bias before a BatchNorm. Adam scales such a gradient to a full update.
LEAST_SIGNIFICANT = 1e-4

Tensors = dict[str, Any]  # by "optimizer.group.number" of the parameter; None: no gradient


def gradients_of(optimizer: Any, number: int) -> Tensors:
    """Returns copies of the gradients on the CPU."""
    torch = sys.modules["torch"]
    scale = getattr(optimizer, "grad_scale", None)  # a fused step divides by it
    out: Tensors = {}
    for name, parameter in _named(optimizer, number):
        gradient = parameter.grad
        if gradient is not None:
            gradient = gradient.detach().to("cpu", torch.float32, copy=True)
            if gradient.is_sparse:
                gradient = gradient.to_dense()
            if scale is not None:
                gradient /= float(scale)
        out[name] = gradient
    return out


def weights_of(optimizer: Any, number: int) -> Tensors:
    torch = sys.modules["torch"]
    return {
        name: parameter.detach().to("cpu", torch.float32, copy=True)
        for name, parameter in _named(optimizer, number)
    }


def _named(optimizer: Any, number: int) -> list[tuple[str, Any]]:
    return [
        (f"{number}.{at}.{index}", parameter)
        for at, group in enumerate(optimizer.param_groups)
        for index, parameter in enumerate(group["params"])
    ]


def compare(found: Tensors, reference: Tensors) -> GradientFacts:
    errors = {}
    missing = len(found.keys() ^ reference.keys())
    for name in found.keys() & reference.keys():
        mine, other = found[name], reference[name]
        if (mine is None) != (other is None):
            missing += 1
        elif mine is not None:
            size = float(other.norm())
            difference = float((mine - other).norm())
            errors[name] = _finite(difference / size) if size else float(difference > 0)
    ratio, cosine = _alignment(found, reference)
    return GradientFacts(errors, ratio, cosine, missing)


def significant(gradients: Tensors) -> list[str]:
    """Returns the parameters whose gradient is more than rounding, by their names."""
    found = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    squares = {name: float(gradient.double().square().sum()) for name, gradient in found.items()}
    mean = sum(squares.values()) / max(1, sum(gradient.numel() for gradient in found.values()))
    least = LEAST_SIGNIFICANT**2 * mean
    return [name for name, one in found.items() if squares[name] > least * one.numel()]


def alignment_of_updates(
    before: Tensors, after: Tensors, reference: Tensors
) -> tuple[float, float]:
    """Returns ratio of norms and cosine of two updates. `reference` is an update."""
    return _alignment(updates(before, after), reference)


def updates(before: Tensors, after: Tensors) -> Tensors:
    return {name: after[name] - before[name] for name in before.keys() & after.keys()}


def _alignment(found: Tensors, reference: Tensors) -> tuple[float, float]:
    dot = mine = other = 0.0
    for name in found.keys() & reference.keys():
        one, two = found[name], reference[name]
        if one is not None and two is not None:
            one, two = one.double().flatten(), two.double().flatten()
            dot += float(one @ two)
            mine += float(one @ one)
            other += float(two @ two)
    if not mine or not other:
        return (1.0, 1.0) if mine == other else (0.0, 0.0)
    return _finite(math.sqrt(mine / other)), _finite(dot / math.sqrt(mine * other))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 1e12
