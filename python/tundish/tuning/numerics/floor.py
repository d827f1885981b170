"""The noise floor: the error of correct fp32 steps relative to an fp64 reference, for each tensor.

One run is not enough. If it happens to be close to the reference, a correct trick would look wrong. The
noise floor of a tensor is its largest error over eight runs: two equal ones, three with inputs changed by
rounding errors, and three with weights changed by rounding errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from .observed_step import Observation

EPS = torch.finfo(torch.float32).eps
LEAST = 8 * EPS  # error of a sequential sum of a thousand terms
# Smallest error that counts for optimizer updates. Adam's 1 - beta2^step is 0.001 in the first step. In
# fp32 it is 500 times less exact than in the host's fp64, and its square root 250 times. The error of
# torch's fused kernels is 30 x EPS.
LEAST_UPDATE = 32 * EPS
NOISE_FROM = 0.1  # a tensor whose relative error in fp32 is larger consists of rounding noise
NOISE_SIZE = (
    1000 * EPS
)  # limit for tensors of noise, relative to other tensors of their kind: sums of 10^6 canceling terms
MOST = 1e12  # replaces infinity, which JSON cannot represent


@dataclass
class Errors:
    """Relative errors of one run by tensor, and the smallest error that counts for each tensor."""

    error: dict[str, float] = field(default_factory=dict)
    least: dict[str, float] = field(default_factory=dict)
    least_if_noise: dict[str, float] = field(default_factory=dict)

    def merge(self, other: Errors) -> None:
        """Keeps the larger error of each tensor. NaN counts as the largest error."""
        for mine, theirs in (
            (self.error, other.error),
            (self.least, other.least),
            (self.least_if_noise, other.least_if_noise),
        ):
            for name, value in theirs.items():
                mine[name] = max(_finite(mine.get(name, 0.0)), _finite(value))


def errors_of(seen: Observation, reference: Observation) -> Errors:
    """Returns the errors of loss, outputs, gradients and buffers relative to the reference."""
    names = [name for name in reference if not name.startswith("weight ")]
    extra = [
        name for name in seen if name not in reference and name.startswith(("gradient", "output"))
    ]
    sizes = _norms([reference[name] for name in names])
    counts = [max(1, reference[name].numel()) for name in names]
    differences = _norms([_difference(seen.get(name), reference[name]) for name in names])
    typical = _typical_sizes(names, sizes, counts)
    out = Errors()
    for name, size, count, difference in zip(names, sizes, counts, differences):
        # The typical norm of a tensor of this kind and length. Errors of tiny tensors are relative to it.
        usual = typical[_kind(name)] * math.sqrt(count)
        whole = max(size, EPS * usual, 1e-300)
        out.error[name] = difference / whole
        out.least[name] = LEAST * max(size, usual) / whole
        out.least_if_noise[name] = NOISE_SIZE * max(size, usual) / whole
        if not torch.is_floating_point(reference[name]):
            out.error[name] = 0.0 if difference == 0.0 else MOST
    for name, size in zip(extra, _norms([seen[name] for name in extra])):
        out.error[name] = (
            0.0 if size == 0.0 else MOST
        )  # a gradient of zeros may stand in for a missing gradient
        out.least[name] = out.least_if_noise[name] = LEAST
    return out


def update_errors(
    after: Observation, before: Observation, expected: dict[str, torch.Tensor]
) -> Errors:
    """Returns the errors of the optimizer's updates, relative to the updates.

    Relative to the weights, the errors would be too small to see. `expected` holds the updates of the plain
    optimizer in fp64, computed from the gradients of the same run. The gradients of the reference cannot be
    used: Adam makes a full-sized update even from a noise gradient, whose sign is random.
    """
    names = list(expected)
    sizes = _norms([expected[name] for name in names])
    weights = _norms([before[name] for name in names])
    moved = [after[f"weight {name}"].double() - before[name].double() for name in names]
    differences = _norms([_difference(m, expected[name]) for m, name in zip(moved, names)])
    out = Errors()
    for name, size, weight, difference in zip(names, sizes, weights, differences):
        # The sum of weight and update is rounded to fp32. Zero weights add no rounding.
        least = max(EPS * (size + weight), LEAST_UPDATE * size)
        whole = max(size, least, 1e-300)
        out.error[f"update of {name}"] = difference / whole
        out.least[f"update of {name}"] = least / whole
    return out


def ratios(run: Errors, floor: Errors) -> dict[str, tuple[float, float, float]]:
    """Returns (error / floor, error, floor) for each tensor."""
    out = {}
    for name, error in run.error.items():
        measured = _finite(floor.error.get(name, 0.0))
        noise = measured > NOISE_FROM
        least = floor.least_if_noise if noise and name in floor.least_if_noise else floor.least
        limit = max(measured, least.get(name, run.least.get(name, EPS)), 1e-300)
        out[name] = (min(MOST, _finite(error) / limit), _finite(error), limit)
    return out


def _kind(name: str) -> str:
    return name.split(" ", 1)[0]


def _typical_sizes(names: list[str], sizes: list[float], counts: list[int]) -> dict[str, float]:
    """Returns the root mean square of all elements of each kind."""
    squares: dict[str, float] = {}
    elements: dict[str, int] = {}
    for name, size, count in zip(names, sizes, counts):
        kind = _kind(name)
        if kind == "buffer":  # means, variances and counts have different scales
            squares[kind], elements[kind] = 0.0, 1
            continue
        squares[kind] = squares.get(kind, 0.0) + (size * size if math.isfinite(size) else 0.0)
        elements[kind] = elements.get(kind, 0) + count
    return {kind: math.sqrt(squares[kind] / elements[kind]) for kind in squares}


def _difference(seen: torch.Tensor | None, reference: torch.Tensor) -> torch.Tensor:
    if seen is None:
        return reference.double()
    if seen.shape != reference.shape:
        return torch.full((), math.inf, dtype=torch.float64, device=reference.device)
    return seen.double() - reference.double()


def _norms(tensors: list[torch.Tensor]) -> list[float]:
    if not tensors:
        return []
    device = tensors[0].device
    norms = [torch.linalg.vector_norm(tensor.detach().double()).to(device) for tensor in tensors]
    values: list[float] = torch.stack(norms).tolist()
    return values


def _finite(value: float) -> float:
    return value if math.isfinite(value) else MOST
