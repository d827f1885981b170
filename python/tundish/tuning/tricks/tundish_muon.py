"""Runs torch's Muon with tundish.optim: the same formula, rounded differently in bfloat16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .trick import Grade
from .tundish_optimizer import MUON, TundishOptimizer, find_obstacle

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class TundishMuon(TundishOptimizer):
    """Runs `torch.optim.Muon` with the kernels of `tundish.optim`.

    Newton-Schulz iterations in bfloat16 amplify rounding errors. Two correct implementations differ
    by about 1 % of an update, far more than fp32 noise. `tundish.tune` therefore compares loss curves
    instead of single steps.
    """

    name = "tundish_muon"
    title = "Tundish's Muon"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        return find_obstacle(step.optimizer, (MUON,))

    def code(self) -> list[str]:
        return ["optimizer = tundish.optim.Muon(matrices, ...)  # same arguments, state"]
