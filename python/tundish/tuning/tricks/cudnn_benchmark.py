"""cudnn.benchmark: cuDNN times its algorithms for each convolution shape and keeps the fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step

_CONVOLUTIONS = (
    torch.nn.Conv1d,
    torch.nn.Conv2d,
    torch.nn.Conv3d,
    torch.nn.ConvTranspose1d,
    torch.nn.ConvTranspose2d,
    torch.nn.ConvTranspose3d,
)


@dataclass(frozen=True)
class CudnnBenchmark(Trick):
    """Turns on cudnn.benchmark: cuDNN picks the fastest algorithm for each convolution shape."""

    name = "cudnn_benchmark"
    title = "cudnn.benchmark"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        if step.device.type != "cuda":
            return "needs a GPU"
        if not any(isinstance(m, _CONVOLUTIONS) for m in step.model.modules()):
            return "the model has no convolution"
        if step.shapes_vary:
            return "batch shapes vary, and every new shape would be timed again"
        return ""

    def apply(self, step: Step) -> None:
        step.kept["cudnn_benchmark"] = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True

    def undo(self, step: Step) -> None:
        # Algorithms that cuDNN has already chosen stay in use in this process.
        torch.backends.cudnn.benchmark = step.kept.pop("cudnn_benchmark")

    def code(self) -> list[str]:
        return ["torch.backends.cudnn.benchmark = True"]
