"""torch's fused AdamW, with separate calls for the scaler, the clipping and the average."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.swa_utils import get_ema_multi_avg_fn

from .contestant import Contestant, Entry, make_scaler
from .jobs import Job
from .torch_loop import optimizer_of

NAME = "torch, separate calls"


def make(job: Job, parameters: list[Any], graph: bool) -> Contestant:
    optimizer = optimizer_of(job, parameters, graph, fused=True)
    device = parameters[0].device.type
    scaler = make_scaler(torch.amp.GradScaler, device) if job.scaler else None
    weights = [parameter.detach() for parameter in parameters]
    averages = [weight.clone() for weight in weights]
    blend = get_ema_multi_avg_fn(job.ema_decay)

    def step() -> None:
        if scaler is not None:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, job.max_norm, foreach=True)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        blend(averages, weights, 0)

    return Contestant(parameters, step, lambda: averages)


CONTESTANTS = [Entry(NAME, ("adamw_clip_ema", "adamw_scaler_clip_ema"), make)]
