"""The types of the search: variants of the step, facts about the job, timed variants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..trials.paired_times import Gain, TimedTurn, compare, middle_ms
from ..trials.pool import TrialOutcome
from ..tricks import Trick, in_order
from .rows import Variant


class BaselineFailed(RuntimeError):
    """Raised if the user's step fails without any trick."""

    def __init__(self, outcome: TrialOutcome) -> None:
        super().__init__(outcome.failed)
        self.outcome = outcome


@dataclass
class JobFacts:
    """Facts about the job that the search needs before it starts."""

    cuda: bool
    obstacles: dict[str, str]  # why each trick cannot be used, by trick name; empty if it can
    samples: int = 0  # number of samples in a batch
    peak_bytes: int = 0  # peak memory of the baseline, set after its run


@dataclass
class MeasuredVariant:
    """A timed variant, with timings of the baseline and its twin from the same rounds."""

    turns: list[TimedTurn]
    base: list[TimedTurn]
    twin: list[TimedTurn]
    peak_bytes: int | None
    one_off_s: float = 0.0  # seconds of compilation and warm-up

    @property
    def ms(self) -> float:
        return middle_ms(self.turns)

    @property
    def gain(self) -> Gain:
        return compare(self.base, self.turns, self.twin)


def pair_noise(
    other: list[TimedTurn], base: list[TimedTurn], twin: list[TimedTurn]
) -> list[TimedTurn]:
    """Returns simulated timings of a twin of `other`.

    In each round, they differ from `other` as much as the baseline's twin differs from the baseline.
    """
    return [
        TimedTurn(o.ms * t.ms / b.ms, o.host_ms * t.host_ms / b.host_ms)
        for o, b, t in zip(other, base, twin)
    ]


def in_variant(tricks: Iterable[Trick]) -> Variant:
    return tuple(in_order(dict.fromkeys(tricks)))


def without(variant: Variant, trick: Trick) -> Variant:
    return tuple(kept for kept in variant if kept != trick)
