"""Measures how long a training loop waits for its batches."""

from __future__ import annotations

from collections import deque
from time import perf_counter

_KEPT = 1000  # number of waiting times kept for quantiles


class Waits:
    """Statistics of waiting times. One thread adds values, and any thread may read the statistics.

    For each batch, the loop only appends to `new`. The values in `new` are added to the sums occasionally.
    """

    def __init__(self) -> None:
        self.new: deque[float] = deque()  # waiting times in seconds, not added to the sums yet
        self._batches = 0
        self._wait_s = 0.0
        self._last: deque[float] = deque(maxlen=_KEPT)
        self._window: tuple[float, float] | None = (
            None  # start time of the window, and the seconds waited before it
        )

    def begin(self) -> None:
        """Starts the time window of the statistics, when a loop requests its first batch."""
        if self._window is None:
            self._window = (perf_counter(), 0.0)

    def take_new(self) -> None:
        for _ in range(len(self.new)):
            try:
                wait = self.new.popleft()
            except IndexError:  # another thread has taken the values
                return
            self._batches += 1
            self._wait_s += wait
            self._last.append(wait)

    def stats(self, reset: bool = False) -> dict[str, float]:
        """Returns statistics named as in tundish.Loader.stats(). Quantiles cover the last 1,000 batches."""
        self.take_new()
        now, waits = perf_counter(), sorted(self._last)
        begin, before = self._window or (now, self._wait_s)
        share = min(1.0, (self._wait_s - before) / max(now - begin, 1e-9))
        if reset and self._window is not None:
            self._window = (now, self._wait_s)
            self._last.clear()

        def quantile(share: float) -> float:
            return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else 0.0

        return {
            "data/batches": self._batches,
            "data/wait_s": self._wait_s,
            "data/wait_p50_s": quantile(0.5),
            "data/wait_p99_s": quantile(0.99),
            "data/wait_share": share,
        }
