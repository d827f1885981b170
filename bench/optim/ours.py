"""tundish.optim: one call of the engine per step, including clipping, scaler and weight averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tundish import optim

from .contestant import Contestant, Entry, LeftOut, make_scaler
from .jobs import JOBS, Job

NAME = "tundish"
CLASSES = {
    "sgd": "SGD",
    "adamw": "AdamW",
    "lars": "LARS",
    "lamb": "LAMB",
    "lion": "Lion",
    "novograd": "NovoGrad",
    "muon": "Muon",
}


def arguments_of(job: Job, graph: bool) -> dict[str, Any]:
    out = dict(job.arguments)
    if job.kind == "adamw":
        out["capturable"] = graph
    if job.kind == "lamb":
        out["max_grad_norm"] = job.max_norm or None
    elif job.max_norm:
        out["max_norm"] = job.max_norm
    if job.ema_decay:
        out["ema_decay"] = job.ema_decay
    if job.kind == "novograd":  # use timm's variant
        out |= {"bias_correction": False, "reg_inside_moment": True}
    return out


def class_of(job: Job) -> Callable[..., Any]:
    found = getattr(optim, CLASSES[job.kind], None)
    if found is None:
        raise LeftOut(f"tundish.optim has no {CLASSES[job.kind]}")
    return found  # type: ignore[no-any-return]


def step_of(job: Job, optimizer: Any, device: str) -> Callable[[], Any]:
    if not job.scaler:
        return optimizer.step  # type: ignore[no-any-return]
    scaler = make_scaler(optim.GradScaler, device)

    def step() -> None:
        scaler.step(optimizer)
        scaler.update()

    return step


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    optimizer = class_of(job)(parameters, **arguments_of(job, graph))
    step = step_of(job, optimizer, parameters[0].device.type)

    def averages() -> list[Any]:
        return [optimizer.state[p]["ema"] for p in parameters] if job.ema_decay else []

    return Contestant(parameters, step, averages)


CONTESTANTS = [Entry(NAME, tuple(JOBS), make)]
