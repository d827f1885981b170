"""What the search works with: variants of the step, what is known of the job, what was timed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..trials.pool import Outcome
from ..tricks import Trick, in_order
from .paired_times import Gain, Turn, compare, middle_ms
from .rows import Variant


class BaselineFailed(RuntimeError):
    """The user's step fails without any trick."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.failed)
        self.outcome = outcome


@dataclass
class Facts:
    """What the search must know of the job before it starts."""

    cuda: bool
    obstacles: dict[str, str]  # of each trick, by name; empty text: it can be used
    samples: int = 0  # of a batch
    peak_bytes: int = 0  # of the baseline, once it has run


@dataclass
class Measured:
    """A variant that was timed, beside the baseline and its twin of the same rounds."""

    turns: list[Turn]
    base: list[Turn]
    twin: list[Turn]
    peak_bytes: int | None

    @property
    def ms(self) -> float:
        return middle_ms(self.turns)

    @property
    def gain(self) -> Gain:
        return compare(self.base, self.turns, self.twin)


def pair_noise(other: list[Turn], base: list[Turn], twin: list[Turn]) -> list[Turn]:
    """A twin for `other`: as far from it, round by round, as the baseline's twin from the baseline."""
    return [
        Turn(o.ms * t.ms / b.ms, o.host_ms * t.host_ms / b.host_ms)
        for o, b, t in zip(other, base, twin)
    ]


def in_variant(tricks: Iterable[Trick]) -> Variant:
    return tuple(in_order(dict.fromkeys(tricks)))


def without(variant: Variant, trick: Trick) -> Variant:
    return tuple(one for one in variant if one != trick)
