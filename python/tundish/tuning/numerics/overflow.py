"""Summarizes fp16 gradient scaling: skipped steps and the change of the scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Overflow:
    steps: int
    skipped: tuple[int, ...]  # numbers of the skipped steps, from 0
    first_scale: float
    last_scale: float

    @property
    def settled(self) -> bool:
        """Whether the scale has settled: no step of the second half was skipped."""
        return not any(step >= self.steps // 2 for step in self.skipped)

    @property
    def sentence(self) -> str:
        if not self.skipped:
            return f"the gradient scaler skipped none of {self.steps} steps; scale {self.last_scale:,.0f}"
        text = (
            f"the gradient scaler skipped {len(self.skipped)} of {self.steps} steps, the last one at step "
            f"{self.skipped[-1]}; its scale went from {self.first_scale:,.0f} to {self.last_scale:,.0f}"
        )
        return text if self.settled else text + " and has not settled"

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        values["skipped"] = list(self.skipped)
        return {**values, "settled": self.settled, "sentence": self.sentence}


def overflow_of(scales: Sequence[float]) -> Overflow:
    """Returns the summary for the scales before the first step and after each step.

    A smaller scale after a step means that the step was skipped.
    """
    skipped = tuple(i for i in range(len(scales) - 1) if scales[i + 1] < scales[i])
    return Overflow(max(0, len(scales) - 1), skipped, scales[0], scales[-1])


def scale_of(scaler: Any) -> float:
    """Returns the scaler's scale. Waits for the GPU."""
    return float(scaler.get_scale())
