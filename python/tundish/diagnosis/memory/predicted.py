"""Predicts the memory of the measured step with `tundish.tuning.predict_memory`, for comparison."""

from __future__ import annotations

from typing import Any

import torch

from ...tuning.batch_structure import map_tensors, tensors_of
from ...tuning.memory.prediction import predict_memory
from ...tuning.step import Step
from ..probe.profiles.recorded_facts import PredictedMemory


def to_meta_tensors(args: Any, kwargs: Any) -> dict[str, Any]:
    """Returns the arguments of a model call as meta tensors, which use no memory."""
    given = {"args": tuple(args), "kwargs": dict(kwargs)}
    shapes: dict[str, Any] = map_tensors(
        lambda tensor: torch.empty_like(tensor, device="meta"), given
    )
    return shapes


def autocast_type(device: str) -> torch.dtype | None:
    """Returns the autocast dtype if the loop is inside autocast now, otherwise None."""
    if not torch.is_autocast_enabled(device):
        return None
    dtype: torch.dtype = torch.get_autocast_dtype(device)
    return dtype


def predict(
    model: Any, optimizers: list[Any], shapes: Any, autocast: torch.dtype | None
) -> PredictedMemory:
    """Returns the predicted peak. Raises ValueError if the step cannot be reconstructed."""
    if shapes is None:
        raise ValueError("the model was not called")
    model = inner_model(model)
    wanted = {id(p) for p in model.parameters()}
    trains = [
        optimizer
        for optimizer in optimizers
        if any(id(p) in wanted for group in optimizer.param_groups for p in group["params"])
    ]
    if not trains:
        raise ValueError("no optimizer trains the model")
    step = Step(model, trains[0], mean_output_loss)
    step.autocast = autocast
    device = step.device
    batch = map_tensors(
        lambda tensor: torch.zeros(tensor.shape, dtype=tensor.dtype, device=device), shapes
    )
    found = predict_memory(step, batch)
    return PredictedMemory(
        peak_bytes=found.peak,
        part=found.phase,
        kinds={kind: size for kind, size in found.at_peak.items() if size},
        method=found.method,
        reason=found.reason,
    )


def inner_model(model: Any) -> Any:
    """Returns the model inside DistributedDataParallel and similar wrappers.

    A wrapper would wait for other ranks during the prediction. Raises ValueError for models that are
    sharded over several ranks.
    """
    parallel = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    while isinstance(model, parallel):
        model = model.module
    whole = all(type(p) in (torch.nn.Parameter, torch.Tensor) for p in model.parameters())
    names = {type(module).__name__ for module in model.modules()}
    if not whole or "FullyShardedDataParallel" in names:
        raise ValueError("the model is sharded over several ranks")
    return model


def mean_output_loss(model: Any, batch: Any) -> torch.Tensor:
    """Returns the mean of all outputs. It replaces the loss function of the loop, which is unknown.

    A loss uses little memory compared with the model.
    """
    out = model(*batch["args"], **batch["kwargs"])
    values = list(out.values()) if isinstance(out, dict) else out
    floats = [tensor for tensor in tensors_of(values) if tensor.is_floating_point()]
    if not floats:
        raise ValueError("the model returns no floating-point tensor")
    total = floats[0].float().mean()
    for tensor in floats[1:]:
        total = total + tensor.float().mean()
    return total
