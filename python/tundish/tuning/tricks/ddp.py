"""Options of DistributedDataParallel: gradient_as_bucket_view and static_graph."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .accumulate import STATIC_GRAPH
from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step

_PARALLEL = torch.nn.parallel.DistributedDataParallel


@dataclass(frozen=True)
class DdpOptions(Trick):
    """Sets the options `gradient_as_bucket_view` and `static_graph` of DistributedDataParallel.

    `gradient_as_bucket_view` avoids a copy of all gradients. `static_graph` avoids the search for
    unused parameters in every step.

    An existing DistributedDataParallel cannot be changed, so `apply` wraps the same module in a
    second one with these options. The step then trains through the second one; `undo` returns to
    the first. Wrapping is a collective operation: every rank must apply the same plan.
    """

    gradient_as_bucket_view: bool = True
    static_graph: bool = False

    name = "ddp"
    title = "DDP bucket views, static graph"
    grade = Grade.REASSOCIATION  # with more than two ranks, other buckets change the order of sums

    def obstacle(self, step: Step) -> str:
        model = step.model
        if not isinstance(model, _PARALLEL):
            return "the model is not a DistributedDataParallel"
        if getattr(model, "_comm_hooks", None):
            return (
                "the model has a communication hook, which a new DistributedDataParallel would lose"
            )
        if getattr(model, "mixed_precision", None) is not None:
            return "the model was made with mixed_precision"
        if self.static_graph and step.accumulate > 1:
            return STATIC_GRAPH
        if all(getattr(model, key) == value for key, value in self._options().items()):
            return "the model already has these options"
        return ""

    def apply(self, step: Step) -> None:
        step.kept["ddp"] = step.model
        step.model = _PARALLEL(
            step.model.module, **{**arguments(step.model), **self._options()}
        ).train(step.model.training)
        _drop_gradients(step)

    def undo(self, step: Step) -> None:
        step.model = step.kept.pop("ddp")
        _drop_gradients(step)

    def code(self) -> list[str]:
        options = ", ".join(f"{key}=True" for key, value in self._options().items() if value)
        return [f"model = DistributedDataParallel(model, device_ids=[...], {options})"]

    def _options(self) -> dict[str, bool]:
        return {
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
        }


def arguments(model: Any) -> dict[str, Any]:
    """Returns the constructor arguments of a DistributedDataParallel, as far as it stores them."""
    known = inspect.signature(_PARALLEL.__init__).parameters
    out: dict[str, Any] = {
        "device_ids": model.device_ids or None,
        "output_device": model.output_device if model.device_ids else None,
        "find_unused_parameters": model.find_unused_parameters,
        "process_group": model.process_group,
        "dim": model.dim,
        "init_sync": False,  # the weights already agree; buffers may differ and must stay unchanged
    }
    if "forward_sync_buffers" in known:  # torch 2.13's name
        out["forward_sync_buffers"] = model.forward_sync_buffers
    else:
        out["broadcast_buffers"] = model.broadcast_buffers
    if not model.bucket_bytes_cap_default:
        out["bucket_cap_mb"] = model.bucket_bytes_cap // 2**20
    return out


def _drop_gradients(step: Step) -> None:
    """Drops gradients, which may be views of the other DistributedDataParallel's buckets."""
    for parameter in step.model.parameters():
        parameter.grad = None
    step.reset()
