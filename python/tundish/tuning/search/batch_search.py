"""The search for a batch size: where samples/s stops to grow.

Sizes double until memory ends, the rate no longer grows, or a limit is met. Then the sizes around the
knee are measured too, and what decides is measured again, in turns. How a size is measured is the
caller's: batch_size.py does it in a child process, tests with a clock of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from ..._c.errors import ArgumentError


class DoesNotFit(RuntimeError):
    """A batch of this size needs more memory than there is."""


@dataclass(frozen=True)
class Measured:
    """One turn of one size."""

    step_s: float
    peak_bytes: int


@dataclass
class SizeResult:
    """Every turn of one size."""

    batch: int
    turns: list[Measured] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Samples per second."""
        return self.batch / median(turn.step_s for turn in self.turns)

    @property
    def spread(self) -> float:
        """How far equal turns were apart, as a share of the step's time."""
        times = [turn.step_s for turn in self.turns]
        return (max(times) - min(times)) / median(times)

    @property
    def peak_bytes(self) -> int:
        return max(turn.peak_bytes for turn in self.turns)


Measure = Callable[[int], Measured]  # raises DoesNotFit
FLAT_DOUBLINGS = 3  # in a row without a gain: the curve is over


@dataclass
class Search:
    """One search; `results` by size, `stopped` says why larger ones were not tried."""

    measure: Measure
    memory_cap_bytes: int | None = None
    within: float = 0.03
    multiple: int = 8
    largest: int = 65536
    turns: int = 3
    results: dict[int, SizeResult] = field(default_factory=dict)
    too_large: int | None = None  # the smallest size that did not fit or was over the cap
    stopped: str = ""

    def run(self) -> int:
        """The knee."""
        self._double()
        if not self.results:
            self._halve()
        self._refine_above()
        self._refine_below()
        self._repeat()
        return self.knee()

    def knee(self, lower: float = 0.0) -> int:
        """The smallest size whose rate is within `within` of the best; `lower`: the limit is lower by
        this share of it."""
        best = max(result.rate for result in self.results.values())
        limit = min(best, (1 - self.within) * (1 - lower) * best)
        return min(b for b, r in self.results.items() if r.rate >= limit)

    def noise(self) -> float:
        """The median spread of the sizes with several turns: what equal measurements differ by."""
        spreads = [r.spread for r in self.results.values() if len(r.turns) > 1]
        return median(spreads) if spreads else 0.0

    def largest_fit(self) -> int:
        return max(self.results)

    def _double(self) -> None:
        batch, best, flat = self.multiple, 0.0, 0
        while batch <= self.largest:
            if not self._try(batch):
                return
            rate = self.results[batch].rate
            flat = 0 if rate > (1 + self.within) * best else flat + 1
            best = max(best, rate)
            if flat >= FLAT_DOUBLINGS:
                self.stopped = f"samples/s no longer grow at {batch}"
                return
            batch *= 2
        self.stopped = f"{self.largest} is the largest size asked for"

    def _halve(self) -> None:
        """Not even the first size fits: smaller ones, which are no multiple."""
        batch = self.multiple // 2
        while batch >= 1:
            if self._try(batch):
                return
            batch //= 2
        raise ArgumentError(
            f"not even one sample fits: {self.stopped}\n"
            "  fix: use a smaller model or input, bf16, or gradient checkpointing"
        )

    def _refine_above(self) -> None:
        """Between the largest size that fits and the one that does not, if the rate still grows there."""
        for _ in range(2):
            top = self.largest_fit()
            if self.too_large is None or self._best() != top or top < self.multiple:
                return
            batch = self._round((top + self.too_large) // 2)
            if batch <= top or batch > self.largest:
                return
            self._try(batch)

    def _refine_below(self) -> None:
        """Between the knee and the size below it, which is too slow."""
        for _ in range(2):
            knee = self.knee()
            smaller = [batch for batch in self.results if batch < knee]
            if not smaller or knee <= self.multiple:
                return
            below = max(smaller)
            batch = self._round((below + knee) // 2)
            if batch in (below, knee):
                return
            self._try(batch)

    def _repeat(self) -> None:
        """More turns of what decides: the sizes near the best rate. One lucky turn decides nothing: when
        it was that of the best size, others are near the best afterwards."""
        while few := [b for b in self._near() if len(self.results[b].turns) < self.turns]:
            for batch in few:
                self._try(batch)

    def _near(self) -> list[int]:
        best = max(result.rate for result in self.results.values())
        return sorted(b for b, r in self.results.items() if r.rate >= (1 - 3 * self.within) * best)

    def _best(self) -> int:
        return max(self.results, key=lambda batch: self.results[batch].rate)

    def _round(self, batch: int) -> int:
        return batch // self.multiple * self.multiple

    def _try(self, batch: int) -> bool:
        """Measures one turn. False if it does not fit."""
        predicted = 0.0 if batch in self.results else self._predicted_peak(batch)
        if self.memory_cap_bytes is not None and predicted > 1.25 * self.memory_cap_bytes:
            return self._ends_at(batch, f"{batch} would need {_gib(predicted)}, more than the cap")
        try:
            turn = self.measure(batch)
        except DoesNotFit as error:
            self.results.pop(batch, None)
            return self._ends_at(batch, f"{batch} does not fit: {error}")
        if self.memory_cap_bytes is not None and turn.peak_bytes > self.memory_cap_bytes:
            self.results.pop(batch, None)
            return self._ends_at(batch, f"{batch} needs {_gib(turn.peak_bytes)}, more than the cap")
        self.results.setdefault(batch, SizeResult(batch)).turns.append(turn)
        return True

    def _ends_at(self, batch: int, why: str) -> bool:
        if self.too_large is None or batch < self.too_large:
            self.too_large, self.stopped = batch, why
        return False

    def _predicted_peak(self, batch: int) -> float:
        """On the line through the two largest sizes below it."""
        known = sorted(b for b in self.results if b < batch)[-2:]
        if len(known) < 2:
            return 0.0
        (a, b), (low, high) = known, (self.results[one].peak_bytes for one in known)
        return high + max(0.0, (high - low) / (b - a)) * (batch - b)


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def split_batch(wanted: int, fits: int, multiple: int = 8) -> tuple[int, int]:
    """Micro-batch and number of micro-batches that give `wanted` samples with at most `fits` at once.

    Equal micro-batches, multiples of 8, where not more than twice as many are needed for it; otherwise
    the last ones are smaller by one.
    """
    fewest = -(-wanted // fits)
    for step in (multiple, 1):
        for parts in range(fewest, 2 * fewest + 1):
            if wanted % parts == 0 and wanted // parts % step == 0:
                return wanted // parts, parts
    return -(-wanted // fewest), fewest
