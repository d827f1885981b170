"""channels_last: images and filters as (N, H, W, C) in memory, as tensor cores want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .base import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class ChannelsLast(Trick):
    name = "channels_last"
    title = "channels_last"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        if not any(isinstance(m, torch.nn.Conv2d) for m in step.model.modules()):
            return "the model has no two-dimensional convolution"
        return ""

    def apply(self, step: Step) -> None:
        set_layout(step, torch.channels_last)
        step.channels_last = True

    def undo(self, step: Step) -> None:
        set_layout(step, torch.contiguous_format)
        step.channels_last = False

    def code(self) -> list[str]:
        return [
            "model = model.to(memory_format=torch.channels_last)",
            "inputs = inputs.contiguous(memory_format=torch.channels_last)",
        ]


def set_layout(step: Step, layout: Any) -> None:
    """Of the parameters, their gradients and the optimiser's state, so that its kernels see one layout."""
    step.model.to(memory_format=layout)
    for state in step.optimizer.state.values():
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.dim() == 4:
                state[key] = value.contiguous(memory_format=layout)
