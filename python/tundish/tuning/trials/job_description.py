"""Describes a job in a child process, so that the parent never uses the GPU."""

from __future__ import annotations

from typing import Any

import torch

from ..batch_structure import samples_of, tensors_of
from ..fingerprint import fingerprint_of
from ..job import JobSource
from ..step import Step
from ..tricks import TRICKS, trick_from_json
from ..tricks.tf32 import flags


def describe_job(
    source: JobSource, seed: int, own: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    job = source.make(seed)
    step = Step(job.model, job.optimizer, job.loss_fn)
    step.shapes_vary = job.shapes_vary
    batch = job.batches[0]
    found = fingerprint_of(job.model, job.optimizer, batch)
    shapes = [f"{'x'.join(map(str, t.shape))} {t.dtype}" for t in tensors_of(batch)]
    cuda = step.device.type == "cuda"
    tricks = [kind() for kind in TRICKS] + [trick_from_json(values) for values in own or []]
    return {
        "model": f"{found.model}, {found.parameters:,} parameters",
        "optimizer": found.optimizer,
        "batch": ", ".join(shapes).replace("torch.", ""),
        "samples": samples_of(batch),
        "device": found.device,
        "device_type": step.device.type,
        "baseline": describe_flags(step, cuda),
        "obstacles": {trick.name: trick.obstacle(step) for trick in tricks},
        "fingerprint": found.as_json(),
    }


def describe_flags(step: Step, cuda: bool) -> str:
    """Describes the user's torch flags, which the baseline runs with."""
    group: dict[str, Any] = step.optimizer.param_groups[0]
    kernels = "fused" if group.get("fused") else "foreach" if group.get("foreach") else "default"
    parts = ["your step", "eager"]
    if cuda:
        products, convolutions = flags()
        parts.append(
            "TF32 everywhere"
            if products and convolutions
            else "TF32 in convolutions"
            if convolutions
            else "TF32 in matrix products"
            if products
            else "strict fp32"
        )
        parts.append(f"cudnn.benchmark {'on' if torch.backends.cudnn.benchmark else 'off'}")
    return ", ".join([*parts, f"{kernels} optimizer"])
