"""TF32: tensor cores multiply fp32 numbers with 10 bits of mantissa."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .base import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class TF32(Trick):
    name = "tf32"
    title = "TF32"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        if step.device.type != "cuda":
            return "needs a GPU"
        if torch.cuda.get_device_capability(step.device) < (8, 0):
            return "needs a GPU of compute capability 8.0 or later"
        return ""

    def apply(self, step: Step) -> None:
        step.kept["tf32"] = flags()
        set_flags(True, True)

    def undo(self, step: Step) -> None:
        set_flags(*step.kept.pop("tf32"))

    def code(self) -> list[str]:
        return [
            "torch.backends.cuda.matmul.allow_tf32 = True",
            "torch.backends.cudnn.allow_tf32 = True",
        ]


def flags() -> tuple[bool, bool]:
    """Matrix products, convolutions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces another name for them
        return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


def set_flags(products: bool, convolutions: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.cuda.matmul.allow_tf32 = products
        torch.backends.cudnn.allow_tf32 = convolutions
