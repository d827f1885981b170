"""The formulas of the optimizers in fp64, tensor by tensor: the reference for all contestants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .jobs import Job

State = dict[str, Any]
Formula = Callable[[Any, Any, State, int, dict[str, Any]], Any]


def sgd(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    g = g + a["weight_decay"] * w
    state["m"] = g if step == 1 else a["momentum"] * state["m"] + g
    return w - a["lr"] * state["m"]


def lars(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    decay = a["weight_decay"]
    ratio = 0.001 * w.norm() / (g.norm() + w.norm() * decay + 1e-8)
    return sgd(w, ratio * (g + decay * w), state, step, {**a, "weight_decay": 0.0})


def _moments(g: Any, state: State, step: int) -> tuple[Any, Any]:
    """Returns Adam's moments with bias correction."""
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * g * g
    return state["m"] / (1 - 0.9**step), state["v"] / (1 - 0.999**step)


def adamw(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    m, v = _moments(g, state, step)
    return w * (1 - a["lr"] * a["weight_decay"]) - a["lr"] * m / (v.sqrt() + 1e-8)


def lamb(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    m, v = _moments(g, state, step)
    update = m / (v.sqrt() + 1e-6) + a["weight_decay"] * w
    return w - a["lr"] * w.norm() / update.norm() * update


def lion(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    m = state.get("m", torch.zeros_like(g))
    state["m"] = 0.99 * m + 0.01 * g
    return w * (1 - a["lr"] * a["weight_decay"]) - a["lr"] * (0.9 * m + 0.1 * g).sign()


def novograd(w: Any, g: Any, state: State, step: int, a: dict[str, Any]) -> Any:
    beta1, beta2 = a["betas"]
    square = g.square().sum()
    state["v"] = square if step == 1 else beta2 * state["v"] + (1 - beta2) * square
    g = g / (state["v"].sqrt() + 1e-8) + a["weight_decay"] * w
    state["m"] = beta1 * state.get("m", 0.0) + (1 - beta1) * g
    return w - a["lr"] * state["m"]


FORMULAS: dict[str, Formula] = {
    "sgd": sgd,
    "adamw": adamw,
    "lars": lars,
    "lamb": lamb,
    "lion": lion,
    "novograd": novograd,
}


def _clipping(job: Job, gradients: Sequence[Any]) -> float:
    if not job.max_norm:
        return 1.0
    norm = sum(float(g.double().square().sum()) for g in gradients) ** 0.5
    return min(1.0, job.max_norm / norm)


def run(job: Job, weights: Sequence[Any], steps: Sequence[Sequence[Any]]) -> list[Any]:
    """Makes one step per set of gradients. Returns the weights, then the averages if the job has them."""
    formula = FORMULAS[job.kind]
    factors = [_clipping(job, gradients) for gradients in steps]
    out, averages = [], []
    for place, weight in enumerate(weights):
        w, state = weight.double(), {}
        average = w
        for number, gradients in enumerate(steps):
            g = factors[number] * gradients[place].double()
            w = formula(w, g, state, number + 1, job.arguments)
            average = job.ema_decay * average + (1 - job.ema_decay) * w
        out.append(w.float())
        averages.append(average.float())
    return [*out, *averages] if job.ema_decay else out
