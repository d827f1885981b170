"""The type of a layer check: its id, title and reason, and a function that examines the measured layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...layers.measured_layers import MeasuredLayers


@dataclass(frozen=True)
class LayerFinding:
    """A finding about layers. `seconds` is the cost per step, or None if it is unknown."""

    text: str
    fix: str
    seconds: float | None


@dataclass(frozen=True)
class LayerRule:
    """A check of measured layers.

    level  "warning" (time is lost) or "note" (a rule from a paper; its benefit must be tried out)
    """

    id: str
    title: str
    level: str
    reason: str
    find: Callable[[MeasuredLayers], Iterable[LayerFinding]]

    @property
    def page(self) -> str:
        return f"docs/check.md#{self.id}"
