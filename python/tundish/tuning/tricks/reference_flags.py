"""Settings to compare against: strict fp32 and torch's defaults. They are never part of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .tf32 import Flags, set_flags
from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class StrictFp32(Trick):
    """Turns TF32 off everywhere. This is a setting to compare against, not an optimization."""

    name = "strict_fp32"
    title = "strict fp32"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return "" if step.device.type == "cuda" else "needs a GPU"

    def apply(self, step: Step) -> None:
        step.kept["strict_fp32"] = Flags()
        set_flags(False, False)

    def undo(self, step: Step) -> None:
        step.kept.pop("strict_fp32").restore()

    def code(self) -> list[str]:
        return [
            "torch.backends.cuda.matmul.allow_tf32 = False",
            "torch.backends.cudnn.allow_tf32 = False",
        ]


@dataclass(frozen=True)
class TorchDefaults(Trick):
    """Restores torch's default flags: TF32 for convolutions only, and cudnn.benchmark off.

    This is a setting to compare against, not an optimization.
    """

    name = "torch_defaults"
    title = "torch's default flags"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        return "" if step.device.type == "cuda" else "needs a GPU"

    def apply(self, step: Step) -> None:
        step.kept["torch_defaults"] = Flags(), torch.backends.cudnn.benchmark
        set_flags(False, True)
        torch.backends.cudnn.benchmark = False

    def undo(self, step: Step) -> None:
        before, benchmark = step.kept.pop("torch_defaults")
        before.restore()
        torch.backends.cudnn.benchmark = benchmark

    def code(self) -> list[str]:
        return [
            "torch.backends.cuda.matmul.allow_tf32 = False",
            "torch.backends.cudnn.allow_tf32 = True",
            "torch.backends.cudnn.benchmark = False",
        ]
