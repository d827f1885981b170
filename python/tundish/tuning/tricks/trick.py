"""The base class of tricks: optimizations of the training step that can be applied and undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..step import Step


class Grade(Enum):
    """How closely training with a trick must match training without it.

    BITWISE        the same bits
    REASSOCIATION  the same sums in another order, with differences within fp32 rounding noise
    STATISTICAL    lower precision, with a loss curve within the spread of fp32 runs
    """

    BITWISE = "bitwise"
    REASSOCIATION = "reassociation"
    STATISTICAL = "statistical"


@dataclass(frozen=True)
class Trick(ABC):
    """Base class of tricks: optimizations of the training step that `tundish.tune` can try.

    A subclass is a frozen dataclass. Its fields are options, which are saved in a plan file.

    name      name in plan files and on the command line
    title     name in tables
    grade     required numerical accuracy
    replaces  names of tricks that have no effect when this trick is applied
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    grade: ClassVar[Grade] = Grade.BITWISE
    replaces: ClassVar[tuple[str, ...]] = ()
    own: ClassVar[str] = ""  # "FILE:CLASS" of a user-defined trick

    def obstacle(self, step: Step) -> str:
        """Returns why this trick cannot be applied to the step, or an empty string if it can."""
        return ""

    @abstractmethod
    def apply(self, step: Step) -> None:
        """Changes the step or flags of torch. Stores what `undo` needs in `step.kept`."""

    @abstractmethod
    def undo(self, step: Step) -> None:
        """Reverts `apply`."""

    def code(self) -> list[str]:
        """Returns lines of code that apply the trick in your own training loop."""
        return []

    def as_json(self) -> dict[str, Any]:
        own = {"own": self.own} if self.own else {}
        return {"name": self.name, **asdict(self), **own}
