"""What `tundish tune` predicts for the step that was measured: beside it, to see what the script adds."""

from __future__ import annotations

from typing import Any

import torch

from ...tuning.batch_structure import map_tensors, tensors_of
from ...tuning.memory.prediction import predict_memory
from ...tuning.step import Step


def shapes_of(args: Any, kwargs: Any) -> dict[str, Any]:
    """What a model is called with, without its memory."""
    given = {"args": tuple(args), "kwargs": dict(kwargs)}
    shapes: dict[str, Any] = map_tensors(
        lambda tensor: torch.empty_like(tensor, device="meta"), given
    )
    return shapes


def autocast_type(device: str) -> torch.dtype | None:
    """Of autocast, where the loop is inside of it now."""
    if not torch.is_autocast_enabled(device):
        return None
    dtype: torch.dtype = torch.get_autocast_dtype(device)
    return dtype


def predict(
    model: Any, optimizers: list[Any], shapes: Any, autocast: torch.dtype | None
) -> dict[str, Any]:
    """ValueError where the step cannot be told from what was seen."""
    if shapes is None:
        raise ValueError("no call of the model was seen")
    model = inner_model(model)
    wanted = {id(p) for p in model.parameters()}
    trains = [
        one
        for one in optimizers
        if any(id(p) in wanted for group in one.param_groups for p in group["params"])
    ]
    if not trains:
        raise ValueError("no optimizer of the model was found")
    step = Step(model, trains[0], stand_in_loss)
    step.autocast = autocast
    device = step.device
    batch = map_tensors(lambda one: torch.zeros(one.shape, dtype=one.dtype, device=device), shapes)
    found = predict_memory(step, batch)
    return {
        "peak_bytes": found.peak,
        "part": found.phase,
        "kinds": {kind: size for kind, size in found.at_peak.items() if size},
        "method": found.method,
        "reason": found.reason,
    }


def inner_model(model: Any) -> Any:
    """Without what makes ranks wait for each other: a prediction in one rank must not. ValueError for models that no
    process has as a whole."""
    parallel = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    while isinstance(model, parallel):
        model = model.module
    whole = all(type(p) in (torch.nn.Parameter, torch.Tensor) for p in model.parameters())
    names = {type(one).__name__ for one in model.modules()}
    if not whole or "FullyShardedDataParallel" in names:
        raise ValueError("the model is spread over several ranks")
    return model


def stand_in_loss(model: Any, batch: Any) -> torch.Tensor:
    """The loop's own loss is not known. It is small beside the model: this is the mean of all that the model returns."""
    out = model(*batch["args"], **batch["kwargs"])
    values = list(out.values()) if isinstance(out, dict) else out
    floats = [one for one in tensors_of(values) if one.is_floating_point()]
    if not floats:
        raise ValueError("the model returns no tensor of floats")
    total = floats[0].float().mean()
    for one in floats[1:]:
        total = total + one.float().mean()
    return total
