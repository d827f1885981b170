"""The pool of trial processes. Several trials prepare at the same time, but only one is timed at a time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._c.library import lib
from ..job import JobSource
from ..tricks import Trick
from .paired_times import TimedTurn, is_host_bound
from .trial import SLOWEST_TURN_S, TrialFailed, TrialProcess, ready

TURN_S = 0.25  # seconds per turn of a GPU-bound step
LEAST_STEPS, MOST_STEPS = 2, 500
ROUNDS, HOST_BOUND_ROUNDS = 5, 10
QUICK_ANSWER_S = 5.0  # time limit for replies that need no training step


@dataclass
class TrialOutcome:
    """The result of a trial's preparation."""

    failed: str = ""  # why the trial cannot be timed; empty if it can
    kind: str = ""  # "obstacle", "capture", "out of memory", "hang", "late", "died", "error"
    losses: list[float] = field(default_factory=list)
    one_off_s: float = 0.0
    step_ms: float = 0.0
    graphs: int = 0  # number of graphs that torch.compile compiled
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Entry:
    tricks: Sequence[Trick]
    nudge: int = 0
    process: TrialProcess | None = None
    outcome: TrialOutcome | None = None
    call: dict[str, Any] | None = None  # a function to call instead of a preparation
    answer: Any = None
    need_bytes: int = 0  # estimated memory on the device
    only_losses: bool = False  # True: only the losses are needed, and the trial is not timed
    steps: int = 0  # number of steps before the trial is timed; 0: the default

    def was_stopped(self) -> bool:
        """Whether the pool itself stopped the trial, so it did not fail."""
        if self.process is not None or self.outcome is None:
            return False
        return self.outcome.kind in ("", "ended")


class TrialPool:
    """A pool of named trials. Single-threaded. close() ends every process."""

    def __init__(
        self,
        source: JobSource,
        folder: str,
        *,
        seed: int,
        steps: int,
        prepare_s: float,
        on_wait: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._source, self._folder = source, folder
        self._seed, self._steps, self._prepare_s = seed, steps, prepare_s
        self._entries: dict[str, _Entry] = {}
        self._on_wait = on_wait
        # Processes that import torch in advance. There are none on a machine with few cores.
        self._spare = [TrialProcess() for _ in range(min(6, lib.tundish_usable_cpus() // 3))]
        self.rounds = ROUNDS  # rounds for GPU-bound variants
        self.most_preparing = 1
        self.memory_limit = 0  # bytes for all trials together; 0: no limit
        self.began = time.monotonic()
        self.deadline = math.inf  # a time.monotonic() value; trials that are not done by then fail
        self.events: list[tuple[float, str, str]] = []  # (seconds, event, trial)

    def start(
        self,
        name: str,
        tricks: Sequence[Trick],
        nudge: int = 0,
        need_bytes: int = 0,
        steps: int = 0,
    ) -> None:
        """Queues a trial, which prepares in the background once memory allows. Restarts a stopped trial."""
        entry = self._entries.get(name)
        if entry is None or entry.was_stopped():
            self._entries[name] = _Entry(
                tricks, nudge, need_bytes=need_bytes, only_losses=nudge > 0, steps=steps
            )
            self._pump()

    def start_call(self, name: str, function: str, need_bytes: int = 0, **arguments: Any) -> None:
        """Queues a function to run in a new process. result() waits for the return value."""
        if name not in self._entries:
            self._entries[name] = _Entry(
                (), call={"function": function, **arguments}, need_bytes=need_bytes
            )
            self._pump()

    def call(self, name: str, function: str, **arguments: Any) -> Any:
        """Runs a function in a new process and returns its result, or None if it fails."""
        self.start_call(name, function, **arguments)
        try:
            return self.result(name)
        except TrialFailed:
            return None

    def outcome(self, name: str) -> TrialOutcome:
        """Waits until a trial is prepared and returns its outcome."""
        entry = self._wait_for(name)
        assert entry.outcome is not None
        return entry.outcome

    def is_ready_by(self, name: str, limit: float) -> bool:
        """Waits for a trial until time.monotonic() passes `limit`. Returns whether the trial is prepared."""
        return self._wait_for(name, limit).outcome is not None

    def result(self, name: str) -> Any:
        """Waits for a queued function and returns its result. Raises TrialFailed if the process failed."""
        entry = self._wait_for(name)
        if isinstance(entry.answer, TrialFailed):
            raise entry.answer
        return entry.answer

    def measure(self, names: Sequence[str], rounds: int = 0) -> dict[str, list[TimedTurn]]:
        """Times prepared trials in rounds while all other trials are paused. Leaves out trials that fail."""
        names = [name for name in names if not self.outcome(name).failed]
        busy = [e for e in self._entries.values() if e.process and e.outcome is None]
        turns: dict[str, list[TimedTurn]] = {name: [] for name in names}
        paused_at = time.monotonic()
        self._note("timing", f"{len(names)} trials")
        for entry in busy:
            assert entry.process is not None
            entry.process.pause()
        try:
            wanted, done = rounds or self.rounds, 0
            while done < wanted and turns:
                order = list(turns)
                for name in order[done % len(order) :] + order[: done % len(order)]:
                    self._on_wait(f"timing, round {done + 1} of {wanted}")
                    self._turn(name, turns)
                done += 1
                if not rounds and done == self.rounds and any(map(is_host_bound, turns.values())):
                    wanted = HOST_BOUND_ROUNDS
        finally:
            for entry in busy:
                assert entry.process is not None
                entry.process.resume(time.monotonic() - paused_at)
        self._note("timed", f"{len(names)} trials")
        return turns

    def memory(self, name: str) -> int | None:
        entry = self._entries[name]
        if entry.process is None or entry.outcome is None or entry.outcome.failed:
            return None
        try:
            return int(entry.process.ask("memory", self._answer_s(QUICK_ANSWER_S))["peak"])
        except TrialFailed as error:
            self._fail(entry, error)
            return None

    def end(self, *names: str) -> None:
        """Ends the processes of these trials. Keeps their results."""
        for name in names:
            entry = self._entries.get(name)
            if entry is None:
                continue
            if entry.process is not None:
                entry.process.end()
                entry.process = None
            if entry.outcome is None:
                entry.outcome = TrialOutcome("it was no longer needed", "ended")

    def close(self) -> None:
        self.end(*self._entries)
        while self._spare:
            self._spare.pop().end()

    def alive(self) -> list[str]:
        """Returns the trials with a running process. Omits queued functions, which end by themselves."""
        entries = self._entries.items()
        return [name for name, entry in entries if entry.process is not None and entry.call is None]

    def _turn(self, name: str, turns: dict[str, list[TimedTurn]]) -> None:
        entry = self._entries[name]
        assert entry.outcome is not None
        assert entry.process is not None
        usual = max(entry.outcome.step_ms, 1e-3)
        steps = min(MOST_STEPS, max(LEAST_STEPS, math.ceil(1e3 * TURN_S / usual)))
        try:
            found = entry.process.ask("turn", self._answer_s(), steps=steps)
        except TrialFailed as error:
            self._fail(entry, error)
            del turns[name]
            return
        turns[name].append(TimedTurn(found["ms"], found["host_ms"]))
        entry.outcome.step_ms = found["ms"]

    def _answer_s(self, least: float = 0.0) -> float:
        """Returns how long a process may take to reply: until the deadline, but at least `least` seconds."""
        return max(least, min(SLOWEST_TURN_S, self.deadline - time.monotonic()))

    def _wait_for(self, name: str, limit: float = math.inf) -> _Entry:
        entry = self._entries[name]
        while entry.outcome is None and (limit == math.inf or time.monotonic() < limit):
            if time.monotonic() >= self.deadline:
                self._fail(entry, TrialFailed("no time left; --minutes gives more", "late"))
                break
            self._pump(force=name)
            self._collect(0.1)
            self._on_wait("")
        return entry

    def _pump(self, force: str = "") -> None:
        """Starts queued trials while memory allows. Starts `force` in any case if no trial is preparing."""
        for name, entry in self._entries.items():
            queued = entry.process is None and entry.outcome is None
            if queued and (self._has_room(entry) or (name == force and not self._preparing())):
                self._launch(name, entry)

    def _preparing(self) -> int:
        return sum(e.process is not None and e.outcome is None for e in self._entries.values())

    def _has_room(self, entry: _Entry) -> bool:
        taken = sum(e.need_bytes for e in self._entries.values() if e.process is not None)
        fits = not self.memory_limit or taken + entry.need_bytes <= self.memory_limit
        return fits and self._preparing() < self.most_preparing

    def _launch(self, name: str, entry: _Entry) -> None:
        self._note("start", name)
        process = entry.process = self._spare.pop() if self._spare else TrialProcess()
        process.use_cache(self._cache_of(entry.tricks))
        if entry.call is not None:
            process.send("call", self._prepare_s, **entry.call)
            return
        steps = entry.steps or self._steps
        process.prepare(self._source, entry.tricks, self._seed, steps, self._prepare_s, entry.nudge)

    def _note(self, what: str, name: str) -> None:
        self.events.append((round(time.monotonic() - self.began, 2), what, name))

    def _collect(self, wait_s: float) -> None:
        busy = {n: e.process for n, e in self._entries.items() if e.process and e.outcome is None}
        for name in ready(busy, wait_s):
            entry = self._entries[name]
            assert entry.process is not None
            self._note("ready", name)
            try:
                self._receive(entry, entry.process.receive())
            except TrialFailed as error:
                self._fail(entry, error)

    def _receive(self, entry: _Entry, found: Any) -> None:
        if entry.call is not None:
            entry.answer, entry.outcome = found, TrialOutcome()
            self._drop(entry)
        elif "obstacle" in found:
            entry.outcome = TrialOutcome(found["obstacle"], "obstacle")
            self._drop(entry)
        else:
            entry.outcome = TrialOutcome(
                losses=found["losses"],
                one_off_s=found["one_off_s"],
                step_ms=found["step_ms"],
                graphs=found["graphs"],
                details=found,
            )
            if entry.only_losses:
                self._drop(entry)

    def _fail(self, entry: _Entry, error: TrialFailed) -> None:
        known = entry.outcome.losses if entry.outcome else []
        entry.outcome = TrialOutcome(
            str(error), error.kind, known, details={"details": error.details}
        )
        entry.answer = error
        self._drop(entry)

    def _drop(self, entry: _Entry) -> None:
        if entry.process is not None:
            entry.process.end()
            entry.process = None

    def _cache_of(self, tricks: Sequence[Trick]) -> str:
        """Returns a cache folder per precision, because cache keys of old torch versions ignore it."""
        kinds = [trick.name for trick in tricks if trick.name in ("tf32", "bf16", "fp16")]
        return os.path.join(self._folder, "-".join(["cache", *kinds]))
