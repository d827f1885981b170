"""Muon's step by tundish.optim: the same formula, and other roundings in bfloat16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .trick import Grade
from .tundish_optimizer import MUON, TundishOptimizer, unsuitable

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class TundishMuon(TundishOptimizer):
    """Runs the step of `torch.optim.Muon` with `tundish.optim`.

    Newton-Schulz iterations in bfloat16 amplify each rounding: two correct programs differ by about
    1 % of an update, far more than fp32 noise. So loss curves are compared, not single steps.
    """

    name = "tundish_muon"
    title = "Tundish's Muon"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        return unsuitable(step.optimizer, (MUON,))

    def code(self) -> list[str]:
        return ["optimizer = tundish.optim.Muon(matrices, ...)  # same arguments, state"]
