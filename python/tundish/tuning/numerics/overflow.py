"""What the gradient scaler of fp16 did: steps that it skipped because a gradient overflowed, and its scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Overflow:
    steps: int
    skipped: tuple[int, ...]  # numbers of the steps, from 0
    first_scale: float
    last_scale: float

    @property
    def settled(self) -> bool:
        """No step of the second half was skipped: the scale has found its size."""
        return not any(step >= self.steps // 2 for step in self.skipped)

    @property
    def sentence(self) -> str:
        if not self.skipped:
            return f"no step of {self.steps} was skipped by the gradient scaler; scale {self.last_scale:,.0f}"
        text = (
            f"{len(self.skipped)} of {self.steps} steps were skipped by the gradient scaler, the last one "
            f"was step {self.skipped[-1]}; its scale went from {self.first_scale:,.0f} to {self.last_scale:,.0f}"
        )
        return text if self.settled else text + " and has not settled"

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        values["skipped"] = list(self.skipped)
        return {**values, "settled": self.settled, "sentence": self.sentence}


def overflow_of(scales: Sequence[float]) -> Overflow:
    """From the scale before the first step and after each step: a skipped step makes it smaller."""
    skipped = tuple(i for i in range(len(scales) - 1) if scales[i + 1] < scales[i])
    return Overflow(max(0, len(scales) - 1), skipped, scales[0], scales[-1])


def scale_of(scaler: Any) -> float:
    """Reads it from the GPU: waits for the step."""
    return float(scaler.get_scale())
