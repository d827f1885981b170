"""zero_grad(set_to_none=True) drops gradients instead of zeroing them: torch's default since 2.0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class SetToNone(Trick):
    """Calls `zero_grad(set_to_none=True)`, which drops gradients instead of filling them with zeros."""

    name = "set_to_none"
    title = "set_to_none"
    grade = Grade.BITWISE

    def apply(self, step: Step) -> None:
        step.kept["set_to_none"] = step.set_to_none
        step.set_to_none = True

    def undo(self, step: Step) -> None:
        step.set_to_none = step.kept.pop("set_to_none")

    def code(self) -> list[str]:
        return ["optimizer.zero_grad(set_to_none=True)"]
