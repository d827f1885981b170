"""The measurements for one model: the contestants take turns, then rivals run and waits are counted.

Failures are recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..common.rows import say
from . import ours, resident_batch, tundish_auto, tundish_cpu, tundish_gpu, tundish_resident
from .busy import Busy
from .feed import Feed, Job
from .report import Results
from .starts import measure_start
from .step import Training, train
from .syncs import count_syncs
from .turn import Turn, measure

MODES = (tundish_cpu, tundish_gpu, tundish_auto, tundish_resident)
LEAST_STEPS = 10
SETTLE_S = 12.0  # maximum time for a loader to choose where to decode
SETTLE_STEPS = 8  # minimum number of steps for the same


@dataclass(frozen=True)
class Sizes:
    rounds: int
    steps: int
    warm_up: int
    count_steps: int  # number of steps in which waits are counted
    starts: int  # number of new loaders to start in each mode


class Contest:
    def __init__(
        self,
        job: Job,
        training: Training,
        sizes: Sizes,
        busy: Busy,
        results: Results,
        write: Callable[[], None],
    ) -> None:
        self.job, self.training, self.sizes = job, training, sizes
        self.busy, self.results, self.write = busy, results, write
        self.feeds: dict[str, Feed] = {}

    def attempt(self, name: str, what: str, act: Callable[[], Any]) -> Any:
        """Returns act(). If it fails, records the failure, removes the contestant and returns None."""
        try:
            return act()
        except Exception as error:
            text = f"{what}: {type(error).__name__}: {error}"
            say(f"  {name} fails: {text}")
            self.results.failed[name] = text[:600]
            if name in self.feeds and name != resident_batch.NAME:
                self.close(name)
            self.write()
            return None

    def open(self, module: ModuleType) -> None:
        """Creates a loader. Its first batch must equal the batch made on the CPU bit for bit."""

        def act() -> None:
            begin = time.perf_counter()
            feed = self.feeds[module.NAME] = module.make(self.job)
            assert self.job.first is not None
            ours.check(next(feed), self.job.first)
            self.settle(module.NAME, feed)
            say(f"  {module.NAME}: first batch is exact, {time.perf_counter() - begin:.1f} s")

        self.attempt(module.NAME, "first batch", act)

    def settle(self, name: str, feed: Feed) -> None:
        """Trains until the loader has chosen to decode on the GPU or on the CPU."""
        begin = time.perf_counter()
        train(feed, self.training, SETTLE_STEPS)
        while name == tundish_auto.NAME and feed.decoding() is None:
            if self.job.device != "cuda" or time.perf_counter() - begin > SETTLE_S:
                break
            train(feed, self.training, SETTLE_STEPS)
        about = {"threads": feed.threads, "decoding": feed.decoding()}
        self.results.loaders[name] = {key: value for key, value in about.items() if value}

    def close(self, name: str) -> None:
        feed = self.feeds.pop(name)
        try:
            feed.close()
        except Exception as error:
            say(f"  closing {name}: {error}")

    def close_all(self) -> None:
        for name in list(self.feeds):
            self.close(name)

    def turn(self, name: str, feed: Feed, steps: int) -> Turn | None:
        def act() -> Turn:
            return measure(feed, self.training, steps, self.sizes.warm_up, self.busy)

        made: Turn | None = self.attempt(name, "steps", act)
        return made

    def round(self, number: int, steps: int) -> dict[str, Turn]:
        """Runs every contestant once. Each round starts with another contestant."""
        names = list(self.feeds)
        first = number % len(names)
        turns = {}
        for name in [*names[first:], *names[:first]]:
            made = self.turn(name, self.feeds[name], steps)
            if made is not None:
                turns[name] = made
        return {name: turns[name] for name in names if name in turns}

    def rounds(self, deadline: float) -> None:
        """Runs a warm-up round, then rounds until there are enough or the time is up."""
        self.feeds = {resident_batch.NAME: resident_batch.make(self.job)} | self.feeds
        begin, few = time.monotonic(), max(3, self.sizes.steps // 4)
        tried = self.round(0, few)
        per_step = sum(turn.step_s for turn in tried.values())
        aside = max(0.0, time.monotonic() - begin - per_step * few)  # overhead of a round
        steps = self.fit(per_step, aside, deadline)
        self.results.about["steps_per_turn"] = steps
        for number in range(1, self.sizes.rounds + 1):
            if time.monotonic() + per_step * steps + aside > deadline and number > 1:
                say(f"  time is over: {number - 1} rounds")
                break
            turns = self.round(number, steps)
            self.results.rounds.append(turns)
            shown = ", ".join(
                f"{name} {1e3 * turn.step_s:.2f} ms (GPU waits {1e3 * turn.gpu_wait_s:.3f}, next "
                f"{1e3 * turn.host_wait_s:.3f}, CPU {1e3 * turn.cpu_s:.1f}, loss {turn.loss:.3f})"
                for name, turn in turns.items()
            )
            say(f"  round {number}, {steps} steps: {shown}")
            self.write()

    def fit(self, per_step: float, aside: float, deadline: float) -> int:
        """Returns the number of steps per turn. If time is short, reduces steps rather than rounds."""
        of_round = (deadline - time.monotonic()) / self.sizes.rounds
        fitting = int((of_round - aside) / per_step)
        least = min(self.sizes.steps, LEAST_STEPS)
        return max(least, min(self.sizes.steps, fitting))

    def beside(self, name: str, feed: Feed, steps: int) -> None:
        """Runs a rival once, after a short run of the baseline."""
        base = self.turn(resident_batch.NAME, self.feeds[resident_batch.NAME], LEAST_STEPS)

        def act() -> Turn:
            return measure(feed, self.training, steps, steps // 2, self.busy)

        turn = self.attempt(name, "steps", act)
        if base is not None and turn is not None:
            say(f"  {name}: {1e3 * turn.step_s:.1f} ms a step")
            self.results.rounds.append({resident_batch.NAME: base, name: turn})
        self.write()

    def count_waits(self) -> None:
        for name, feed in list(self.feeds.items()):

            def act(feed: Feed = feed) -> Any:
                return count_syncs(feed, self.training, self.sizes.count_steps)

            counted = self.attempt(name, "counting waits", act)
            if counted is not None:
                self.results.syncs[name] = counted
        self.write()

    def measure_starts(self, deadline: float) -> None:
        for _ in range(self.sizes.starts):
            for module in MODES:
                if module.NAME in self.results.failed or time.monotonic() > deadline:
                    continue

                def act(make: Callable[[Job], Feed] = module.make) -> Any:
                    return measure_start(make, self.job, self.training)

                start = self.attempt(module.NAME, "a new loader", act)
                if start is not None:
                    self.results.starts.setdefault(module.NAME, []).append(start)
        self.write()
