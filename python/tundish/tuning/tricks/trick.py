"""The base class of tricks: changes of the training step that can be applied, undone and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..step import Step


class Grade(Enum):
    """How close a trick's numbers must stay to the plain step's numbers.

    BITWISE        the same bits
    REASSOCIATION  the same sums in another order: within the noise of fp32
    STATISTICAL    lower precision: the loss curve stays in the band of fp32
    """

    BITWISE = "bitwise"
    REASSOCIATION = "reassociation"
    STATISTICAL = "statistical"


@dataclass(frozen=True)
class Trick(ABC):
    """Base class of a change of the training step that `tundish.tune` can try.

    A subclass is a frozen dataclass. Its fields are options, which are saved in a plan file.

    name      name in a plan file and for `tundish tune`
    title     name in tables
    grade     required numerical accuracy
    replaces  names of tricks that have no effect when this one is used
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    grade: ClassVar[Grade] = Grade.BITWISE
    replaces: ClassVar[tuple[str, ...]] = ()
    own: ClassVar[str] = ""  # FILE:CLASS of a user's own trick

    def obstacle(self, step: Step) -> str:
        """Returns why this trick cannot be used on this step; an empty string if it can."""
        return ""

    @abstractmethod
    def apply(self, step: Step) -> None:
        """Changes the step or flags of torch. Keeps in `step.kept` what `undo` needs."""

    @abstractmethod
    def undo(self, step: Step) -> None:
        """Reverts `apply`."""

    def code(self) -> list[str]:
        """Returns lines that do the same in your own training loop."""
        return []

    def as_json(self) -> dict[str, Any]:
        own = {"own": self.own} if self.own else {}
        return {"name": self.name, **asdict(self), **own}
