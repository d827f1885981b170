"""The search for a batch size: finds the size at which samples per second stop growing, the knee.

The size doubles until memory runs out, the rate stops growing or a limit is reached. Then sizes around the
knee are measured, and the best sizes are measured again in turns. The caller supplies the function that
measures: batch_size.py uses a child process; tests use a simulated clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from ..._c.errors import ArgumentError


class DoesNotFit(RuntimeError):
    """Raised if a batch of this size needs more memory than there is."""


@dataclass(frozen=True)
class SizeTiming:
    """One measurement of one batch size."""

    step_s: float
    peak_bytes: int


@dataclass
class SizeResult:
    """All measurements of one batch size."""

    batch: int
    turns: list[SizeTiming] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Samples per second."""
        return self.batch / median(turn.step_s for turn in self.turns)

    @property
    def spread(self) -> float:
        """Difference between the slowest and the fastest measurement, relative to the median."""
        times = [turn.step_s for turn in self.turns]
        return (max(times) - min(times)) / median(times)

    @property
    def peak_bytes(self) -> int:
        return max(turn.peak_bytes for turn in self.turns)


Measure = Callable[[int], SizeTiming]  # raises DoesNotFit
FLAT_DOUBLINGS = 3  # doublings in a row without a gain that end the search


@dataclass
class BatchSearch:
    """A search for a batch size.

    results   measurements by batch size
    stopped   why no larger size was tried
    """

    measure: Measure
    memory_cap_bytes: int | None = None
    tolerance: float = 0.03
    multiple: int = 8
    max_batch_size: int = 65536
    turns: int = 3
    results: dict[int, SizeResult] = field(default_factory=dict)
    too_large: int | None = None  # smallest size that did not fit or exceeded the cap
    stopped: str = ""

    def run(self) -> int:
        """Runs the search. Returns the knee, the smallest size whose rate is close to the best."""
        self._double()
        if not self.results:
            self._halve()
        self._refine_above()
        self._refine_below()
        self._repeat()
        return self.knee()

    def knee(self, lower: float = 0.0) -> int:
        """Returns the smallest size whose rate is within `tolerance` of the best.

        lower  fraction by which to lower that limit further
        """
        best = max(result.rate for result in self.results.values())
        limit = min(best, (1 - self.tolerance) * (1 - lower) * best)
        return min(b for b, r in self.results.items() if r.rate >= limit)

    def noise(self) -> float:
        """Returns the noise: the median spread of sizes that were measured more than once."""
        spreads = [r.spread for r in self.results.values() if len(r.turns) > 1]
        return median(spreads) if spreads else 0.0

    def largest_fit(self) -> int:
        return max(self.results)

    def _double(self) -> None:
        batch, best, flat = self.multiple, 0.0, 0
        while batch <= self.max_batch_size:
            if not self._try(batch):
                return
            rate = self.results[batch].rate
            flat = 0 if rate > (1 + self.tolerance) * best else flat + 1
            best = max(best, rate)
            if flat >= FLAT_DOUBLINGS:
                self.stopped = f"samples/s stopped growing at {batch}"
                return
            batch *= 2
        self.stopped = f"{self.max_batch_size} is the largest size to try"

    def _halve(self) -> None:
        """Tries sizes below `multiple` if no multiple fits."""
        batch = min(self.multiple, self.too_large or self.multiple) // 2
        while batch >= 1:
            if self._try(batch):
                return
            batch //= 2
        raise ArgumentError(
            f"not even one sample fits: {self.stopped}\n"
            "  fix: use a smaller model or input, bf16, or gradient checkpointing"
        )

    def _refine_above(self) -> None:
        """Tries sizes between the largest that fits and the smallest that does not, while speed grows."""
        for _ in range(2):
            top = self.largest_fit()
            if self.too_large is None or self._best() != top or top < self.multiple:
                return
            batch = self._round((top + self.too_large) // 2)
            if batch <= top or batch > self.max_batch_size:
                return
            self._try(batch)

    def _refine_below(self) -> None:
        """Tries sizes between the knee and the next smaller size, which is too slow."""
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
        """Measures the sizes near the best rate again, so that one lucky measurement does not decide.

        If the best size was only lucky, other sizes come near the best rate and are measured again too.
        """
        while few := [b for b in self._near() if len(self.results[b].turns) < self.turns]:
            for batch in few:
                self._try(batch)
            if not self.results:  # memory varies: a size that did fit no longer fits
                self._halve()

    def _near(self) -> list[int]:
        best = max(result.rate for result in self.results.values())
        limit = (1 - 3 * self.tolerance) * best
        return sorted(b for b, r in self.results.items() if r.rate >= limit)

    def _best(self) -> int:
        return max(self.results, key=lambda batch: self.results[batch].rate)

    def _round(self, batch: int) -> int:
        return batch // self.multiple * self.multiple

    def _try(self, batch: int) -> bool:
        """Measures a size once. Returns False if it does not fit."""
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
        """Extrapolates the peak from the two largest measured sizes below `batch`. Returns 0 without two."""
        known = sorted(b for b in self.results if b < batch)[-2:]
        if len(known) < 2:
            return 0.0
        (a, b), (low, high) = known, (self.results[size].peak_bytes for size in known)
        return high + max(0.0, (high - low) / (b - a)) * (batch - b)


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def split_batch(wanted: int, fits: int, multiple: int = 8) -> tuple[int, int]:
    """Splits `wanted` samples into micro-batches of at most `fits`. Returns their size and their number.

    Prefers equal micro-batches that are multiples of `multiple`, even if up to twice as many are needed.
    Otherwise, the last micro-batches are smaller by one.
    """
    fewest = -(-wanted // fits)
    for step in (multiple, 1):
        for parts in range(fewest, 2 * fewest + 1):
            if wanted % parts == 0 and wanted // parts % step == 0:
                return wanted // parts, parts
    return -(-wanted // fewest), fewest
