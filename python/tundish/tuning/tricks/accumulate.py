"""Gradient accumulation: splits a batch into micro-batches and updates the weights once per batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import LossFunction, Step


# no_sync() with a static graph fails in torch with an internal error.
STATIC_GRAPH = "a DistributedDataParallel with static_graph=True cannot accumulate"


def has_class_weights(loss_fn: LossFunction) -> bool:
    """Returns whether a torch loss or a functools.partial has class weights."""
    keywords = getattr(loss_fn, "keywords", {})
    return getattr(loss_fn, "weight", keywords.get("weight")) is not None


@dataclass(frozen=True)
class Accumulate(Trick):
    """Gradient accumulation: splits each batch into `parts` micro-batches with one weight update.

    The result is the same as for the whole batch if the loss is a mean or a sum over samples. An
    exception is BatchNorm, which uses the statistics of each micro-batch.
    """

    parts: int = 2

    name = "accumulate"
    title = "gradient accumulation"
    grade = Grade.REASSOCIATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", int(self.parts))  # JSON may hold 2.0

    def obstacle(self, step: Step) -> str:
        if self.parts < 1:
            return f"parts must be at least 1, not {self.parts}"
        if step.accumulate != 1:
            return "the step already accumulates gradients"
        if getattr(step.model, "static_graph", False) and self.parts > 1:
            return STATIC_GRAPH
        if has_class_weights(step.loss_fn) and step.mean_loss:
            return (
                "a mean with class weights depends on the labels of its micro-batch; "
                'use reduction="sum" and divide by the total weight of the batch'
            )
        return ""

    def apply(self, step: Step) -> None:
        step.accumulate = self.parts
        step.reset()

    def undo(self, step: Step) -> None:
        step.accumulate = 1
        step.reset()

    def code(self) -> list[str]:
        return [
            "optimizer.zero_grad()",
            f"pieces = list(zip(inputs.chunk({self.parts}), targets.chunk({self.parts})))",
            "for i, (x, y) in enumerate(pieces):",
            "    loss = loss_fn(model(x), y) * len(x) / len(inputs)  # drop the factor for a sum",
            "    loss.backward()  # DDP: under model.no_sync(), except for the last piece",
            "optimizer.step()",
        ]
