"""tune_loader: measures a loader with other thread counts, prefetch depths and decoding devices.

These settings only affect speed and memory; every setting produces the same batches. The defaults are
good for most machines, so another setting is recommended only if its gain exceeds the noise. The noise
is the difference between two loaders with default settings that are measured in the same rounds.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median, pstdev
from typing import Any

from .._c.errors import ArgumentError

Settings = dict[str, Any]
Clock = Callable[[], float]
MakeLoader = Callable[
    ..., Any
]  # make(**settings) -> a tundish.Loader or another iterable of batches
ROUNDS = 5
LEAST_GAIN = 0.05  # smaller gains are never recommended, because hosts are noisy


@dataclass(frozen=True)
class LoaderTrial:
    """One loader setting that `tune_loader` measured and compared with the defaults."""

    settings: Settings  # arguments of tundish.Loader
    samples_per_s: float  # samples per second
    gain: float  # speed relative to the defaults: 1.10 is 10 % faster
    threshold: float  # largest gain that noise alone can produce


@dataclass(frozen=True)
class LoaderReport:
    """The result of `tune_loader`; `print(report)` shows every measured setting."""

    settings: Settings  # recommended arguments of tundish.Loader; empty if the defaults are best
    default_samples_per_s: float  # samples per second with the defaults
    samples_per_s: float  # samples per second with `settings`
    trials: tuple[LoaderTrial, ...]  # every measured setting

    def code(self) -> str:
        """Returns the line that creates a loader with these settings."""
        arguments = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        return f"loader = tundish.Loader(...{arguments})" if arguments else "the defaults are best"

    def __str__(self) -> str:
        lines = [f"default{self.default_samples_per_s:>43,.0f} samples/s"]
        for trial in self.trials:
            arguments = ", ".join(f"{key}={value}" for key, value in trial.settings.items())
            lines.append(
                f"{arguments:<36}{trial.samples_per_s:>14,.0f} samples/s{trial.gain:>8.3f}x "
                f"(noise up to {trial.threshold:.3f}x)"
            )
        return "\n".join([*lines, self.code()])


def tune_loader(
    data: MakeLoader | Any,
    batch_size: int | None = None,
    *,
    seconds: float = 60.0,
    step: Callable[[Any], Any] | None = None,
    **options: Any,
) -> LoaderReport:
    """Finds the fastest settings of a data loader: threads, prefetch depth and decoding device.

    Measures the loader alternately with the default settings and with others.

    data        the data of a `tundish.Loader`; or a function `make(**settings)` that returns a loader
    batch_size  batch size of the `tundish.Loader`
    seconds     approximate time for all measurements
    step        function to call with each batch, such as your training step
    options     other arguments of the `tundish.Loader`
    """
    if seconds <= 0:
        raise ArgumentError(f"tune_loader: {seconds} seconds are too few")
    make = data if callable(data) else _maker(data, batch_size, options)
    if callable(data) and (batch_size is not None or options):
        raise ArgumentError(
            "tune_loader: pass loader arguments to the function that makes the loader"
        )
    return measure_settings(make, stages(options, _cpus()), seconds, step)


def measure_settings(
    make: MakeLoader,
    all_stages: Sequence[Sequence[Settings]],
    seconds: float,
    step: Callable[[Any], Any] | None = None,
    clock: Clock = time.perf_counter,
) -> LoaderReport:
    """Measures the settings of each stage. `clock` returns the time in seconds."""
    return _Tuner(make, seconds, step, clock).run(all_stages)


def stages(options: Settings, cpus: int) -> list[list[Settings]]:
    """Returns the values to try, in one stage per setting. Leaves out settings that the user has fixed."""
    out: list[list[Settings]] = []
    if options.get("threads") in (None, "auto"):
        counts = sorted({max(1, cpus // 2), max(1, cpus - 1), cpus + 2, 2 * cpus} - {cpus})
        out.append([{"threads": count} for count in counts])
    if options.get("prefetch", "auto") == "auto":
        out.append([{"prefetch": count} for count in (2, 8, 16)])
    if options.get("device") is not None and "decode" not in options:
        out.append([{"decode": place} for place in ("cpu", "gpu")])
    return out


def _cpus() -> int:
    """Returns the loader's default number of threads."""
    from .._c.library import lib
    from ..data.settings.world import cpus_of_rank

    return cpus_of_rank(int(lib.tundish_usable_cpus()))


def _maker(path: Any, batch_size: int | None, options: Settings) -> MakeLoader:
    from ..data.loader import Loader

    given: Settings = {"batch_size": 1 if batch_size is None else batch_size, **options}
    given["trace"] = None  # loaders would overwrite each other's trace
    return lambda **settings: Loader(path, **{**given, **settings})


@dataclass
class _Lane:
    """A loader that takes turns with other loaders. It keeps its prefetched batches between turns."""

    settings: Settings
    loader: Any
    rates: list[float] = field(default_factory=list)
    _batches: Iterator[Any] | None = None

    def prefetch(self) -> int:
        """Returns the number of prefetched batches, including the value chosen by prefetch="auto"."""
        chosen = self.loader.stats()["data/prefetch"] if hasattr(self.loader, "stats") else 0
        return int(chosen or self.settings.get("prefetch", 4))

    def next_batch(self) -> Any:
        for _ in range(2):  # at the end of an epoch, start the next one
            if self._batches is None:
                self._batches = iter(self.loader)
            for batch in self._batches:
                return batch
            self._batches = None
        raise ArgumentError("tune_loader: the loader has no batches")

    def close(self) -> None:
        self._batches = None
        with contextlib.suppress(AttributeError):
            self.loader.close()


class _Tuner:
    def __init__(
        self, make: MakeLoader, seconds: float, step: Callable[[Any], Any] | None, clock: Clock
    ) -> None:
        self._make, self._seconds, self._step, self._clock = make, seconds, step, clock
        self._turn_s = 0.0
        self._trials: list[LoaderTrial] = []

    def run(self, all_stages: Sequence[Sequence[Settings]]) -> LoaderReport:
        lanes = sum(len(stage) + 2 for stage in all_stages) + 3  # 3: the final confirmation
        self._turn_s = self._seconds / (ROUNDS * lanes)
        chosen: Settings = {}
        for stage in all_stages:
            found = self._compare(chosen, [{**chosen, **settings} for settings in stage])
            self._trials += found
            paying = [trial for trial in found if trial.gain > trial.threshold]
            if paying:
                chosen = max(paying, key=lambda trial: trial.gain).settings
        # The best of several settings may have won by luck, so it must win again in separate rounds.
        final = self._compare({}, [chosen])[0]
        if chosen and final.gain <= final.threshold:
            chosen = {}
        default = final.samples_per_s / final.gain
        rate = final.samples_per_s if chosen else default
        return LoaderReport(chosen, default, rate, tuple(self._trials))

    def _compare(self, base: Settings, others: list[Settings]) -> list[LoaderTrial]:
        """Compares each of `others` with `base`, in interleaved turns.

        A second loader with the settings of `base` takes part, to measure the noise.
        """
        lanes: list[_Lane] = []
        try:
            for settings in (base, base, *others):
                try:
                    lanes.append(_Lane(settings, self._make(**settings)))
                except (ValueError, RuntimeError):
                    if len(lanes) < 2:  # the default settings failed
                        raise
            for i in range(ROUNDS):
                # Rotate the order in each round, so that no lane always follows the same lane.
                for lane in lanes[i % len(lanes) :] + lanes[: i % len(lanes)]:
                    lane.rates.append(self._turn(lane))
        finally:
            for lane in lanes:
                lane.close()
        first, twin, *rest = lanes
        threshold = 1 + max(LEAST_GAIN, 3 * noise(log_ratios(twin.rates, first.rates)))
        return [
            LoaderTrial(
                lane.settings,
                median(lane.rates),
                math.exp(median(log_ratios(lane.rates, first.rates))),
                threshold,
            )
            for lane in rest
        ]

    def _turn(self, lane: _Lane) -> float:
        """Returns samples per second. First consumes batches that were prefetched during other turns."""
        for _ in range(lane.prefetch() + 2):
            self._use(lane.next_batch())
        begin, samples, end = self._clock(), 0, 0.0
        while samples == 0 or end - begin < self._turn_s:
            samples += self._use(lane.next_batch())
            end = self._clock()
        return samples / max(end - begin, 1e-9)

    def _use(self, batch: Any) -> int:
        if self._step is not None:
            self._step(batch)
        first = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
        device = getattr(first, "device", None)
        if getattr(device, "type", "") == "cuda":
            import torch

            # Wait until the batch has arrived. The next batches are made on other streams.
            torch.cuda.current_stream(device).synchronize()
        return len(first)


def log_ratios(rates: Sequence[float], base: Sequence[float]) -> list[float]:
    return [math.log(rate / other) for rate, other in zip(rates, base)]


def noise(ratios: Sequence[float]) -> float:
    """Returns how far the speed ratio of two equal loaders may be from 1, as a logarithm.

    Returns the larger of two values: the observed median, and the deviation of the median that is
    expected from the spread of the rounds.
    """
    return max(abs(median(ratios)), 1.25 * pstdev(ratios) / math.sqrt(len(ratios)))
