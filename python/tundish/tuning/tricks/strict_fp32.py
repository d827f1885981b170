"""Strict fp32: no TF32 anywhere. Slower; what gains are compared with, and the gate's ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Grade, Trick
from .tf32 import flags, set_flags

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class StrictFp32(Trick):
    name = "strict_fp32"
    title = "strict fp32"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return "" if step.device.type == "cuda" else "needs a GPU"

    def apply(self, step: Step) -> None:
        step.kept["strict_fp32"] = flags()
        set_flags(False, False)

    def undo(self, step: Step) -> None:
        set_flags(*step.kept.pop("strict_fp32"))

    def code(self) -> list[str]:
        return [
            "torch.backends.cuda.matmul.allow_tf32 = False",
            "torch.backends.cudnn.allow_tf32 = False",
        ]
