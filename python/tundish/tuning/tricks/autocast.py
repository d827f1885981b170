"""Mixed precision: matrix products and convolutions in 16 bits; weights and sums in fp32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class Bf16(Trick):
    """Runs the forward pass under bfloat16 autocast. Weights stay in fp32."""

    name = "bf16"
    title = "bf16 autocast"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        if step.autocast is not None:
            return "the step already uses another autocast"
        if step.device.type == "cuda" and not torch.cuda.is_bf16_supported(
            including_emulation=False
        ):
            return "this GPU does not support bf16"
        return ""

    def apply(self, step: Step) -> None:
        step.autocast = torch.bfloat16

    def undo(self, step: Step) -> None:
        step.autocast = None

    def code(self) -> list[str]:
        return [
            'with torch.autocast("cuda", dtype=torch.bfloat16):',
            "    loss = loss_fn(model(inputs), targets)",
        ]


@dataclass(frozen=True)
class Fp16(Trick):
    """Runs the forward pass under float16 autocast, with a gradient scaler. Weights stay in fp32.

    Without the scaler, gradients below 6e-8 would become zero.
    """

    name = "fp16"
    title = "fp16 autocast, scaler"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        if step.autocast is not None:
            return "the step already uses another autocast"
        return "" if step.device.type == "cuda" else "needs a GPU"

    def apply(self, step: Step) -> None:
        step.autocast = torch.float16
        step.scaler = torch.amp.GradScaler(step.device.type)

    def undo(self, step: Step) -> None:
        step.autocast = step.scaler = None

    def code(self) -> list[str]:
        return [
            'scaler = torch.amp.GradScaler("cuda")',
            'with torch.autocast("cuda", dtype=torch.float16):',
            "    loss = loss_fn(model(inputs), targets)",
            "scaler.scale(loss).backward()",
            "scaler.step(optimizer)",
            "scaler.update()",
        ]
