"""A CUDA graph of the whole step: one launch replaces thousands of kernel launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class CudaGraph(Trick):
    """Records the whole step as a CUDA graph and replays it with one launch."""

    name = "cuda_graph"
    title = "CUDA graph of the step"
    grade = Grade.REASSOCIATION  # the kernels are the same, but sums in cuDNN vary between runs

    def obstacle(self, step: Step) -> str:
        if isinstance(step.model, torch.nn.parallel.DistributedDataParallel):
            return (
                "a CUDA graph cannot wait for other ranks, as a DistributedDataParallel step does"
            )
        return "" if step.device.type == "cuda" else "needs a GPU"

    def apply(self, step: Step) -> None:
        step.capture = True
        step.reset()

    def undo(self, step: Step) -> None:
        step.capture = False
        step.reset()

    def code(self) -> list[str]:
        return ["step = plan.apply(model, optimizer, loss_fn)  # holds the graph"]
