"""zero_grad(set_to_none=True): gradients are dropped, not filled with zeros. torch's default since 2.0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class SetToNone(Trick):
    name = "set_to_none"
    title = "set_to_none"
    grade = Grade.BITWISE

    def obstacle(self, step: Step) -> str:
        return "the step does it already: it is torch's default" if step.set_to_none else ""

    def apply(self, step: Step) -> None:
        step.set_to_none = True

    def undo(self, step: Step) -> None:
        step.set_to_none = False

    def code(self) -> list[str]:
        return ["optimizer.zero_grad(set_to_none=True)"]
