"""What a trick is: a change of the training step that can be applied, undone, checked and explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..step import Step


class Grade(Enum):
    """How close a trick's numbers must stay to the plain step's."""

    BITWISE = "bitwise"  # the same bits
    REASSOCIATION = "reassociation"  # the same sums in another order: within fp32 noise
    STATISTICAL = "statistical"  # lower precision: the loss curve stays in the fp32 band


@dataclass(frozen=True)
class Trick(ABC):
    """One trick. The fields of a subclass are its options; they are what a plan file keeps."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""  # as tables show it
    grade: ClassVar[Grade] = Grade.BITWISE
    replaces: ClassVar[tuple[str, ...]] = ()  # tricks that have nothing to do beside it
    own: ClassVar[str] = ""  # FILE:CLASS of a user's own trick

    def obstacle(self, step: Step) -> str:
        """Why this trick cannot be used on this step; empty if it can."""
        return ""

    @abstractmethod
    def apply(self, step: Step) -> None:
        """Changes the step, or flags of torch; what undo() needs goes into step.kept."""

    @abstractmethod
    def undo(self, step: Step) -> None:
        """Takes back what apply() did."""

    def code(self) -> list[str]:
        """The lines that do the same in a training loop of one's own."""
        return []

    def as_json(self) -> dict[str, Any]:
        own = {"own": self.own} if self.own else {}
        return {"name": self.name, **asdict(self), **own}
