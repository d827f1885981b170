"""What a check of layers is: words for people, and a function of the measured layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...layers.measured_layers import Measured


@dataclass(frozen=True)
class SlowLayers:
    """One finding. `seconds`: of every step; None where none can be said."""

    text: str
    remedy: str
    seconds: float | None


@dataclass(frozen=True)
class LayerCheck:
    """level: warning (time is lost), note (a rule of a paper, whose gain only a trial shows)."""

    id: str
    title: str
    level: str
    why: str
    find: Callable[[Measured], Iterable[SlowLayers]]

    @property
    def page(self) -> str:
        return f"docs/doctor-checks.md#{self.id}"
