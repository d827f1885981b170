"""Starts the ranks, forwards their output and stops all ranks when one fails.

One loop in a single thread waits for output, signals (including SIGCHLD) and deadlines.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .failure import Ending, count_oom_kills, first_failure, last_lines, still_running_text
from .output import RankOutput, Stream, Terminal
from .processes import RankProcess
from .rank_plan import Rank

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FORWARDED = (
    signal.SIGUSR1,
    signal.SIGUSR2,
)  # schedulers use these signals to announce the end of a job
_SETTLE_S = 0.5  # wait after the first failure, because other failures may show the cause
_FAILING_S = 5.0  # extra wait for ranks that have printed a traceback but still run
_TRACEBACK_S = 30.0  # a rank that runs this long after a traceback has caught the exception
_LEFTOVER_S = 2.0
_STILL_RUNNING_S = 30.0
_BLOCKED_S = 0.1  # between two attempts to write to a reader that takes nothing
_FOREVER = float("inf")


@dataclass(frozen=True)
class SupervisorOptions:
    grace_s: float = 10.0  # seconds between the request to end and SIGKILL
    exit_timeout_s: float | None = None  # time limit for other ranks after one has succeeded
    logs: Path | None = None
    stdout: int = 1  # descriptor for the first rank's stdout


@dataclass
class RankOutcome:
    endings: list[Ending]
    seconds: float
    interrupted: int = 0  # the signal that ended the run; 0 if none
    oom_kills: int = 0

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 128 + self.interrupted
        first = first_failure(self.endings)
        if first is not None:
            return first.exit_code
        return 1 if any(ending.hung for ending in self.endings) else 0


class Supervisor:
    def __init__(
        self,
        ranks: Sequence[Rank],
        command: list[str],
        options: SupervisorOptions,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """`note` receives messages for the user while the ranks run. The default prints to stderr."""
        self._ranks = ranks
        self._command = command
        self._options = options
        self._terminal = Terminal()
        self._note = note or self._print_note
        self._running: list[RankProcess] = []
        self._all: list[RankProcess] = []
        self._selector = selectors.DefaultSelector()
        self._interrupted = 0
        self._end_at = _FOREVER  # when the ranks will be asked to end
        self._kill_at = _FOREVER
        self._first_good_end = _FOREVER
        self._reported_still_running = False
        self._waited_for_failing = False
        self._asked_to_end = False

    def run(self) -> RankOutcome:
        """Blocks until all ranks have ended. Needs the main thread, because it handles signals."""
        self._begin = time.monotonic()
        oom_kills = count_oom_kills()
        with _signals_as_bytes() as signals:
            self._selector.register(signals, selectors.EVENT_READ)
            try:
                self._start()
                while self._running:
                    self._wait(signals)
            finally:
                self._clean_up(signals)
        seconds = time.monotonic() - self._begin
        endings = [self._ending(process) for process in self._all]
        return RankOutcome(endings, seconds, self._interrupted, count_oom_kills() - oom_kills)

    def _start(self) -> None:
        for i, rank in enumerate(self._ranks):
            output = RankOutput(
                rank.rank, i == 0, self._terminal, self._options.logs, self._options.stdout
            )
            stdin = None if i == 0 else subprocess.DEVNULL
            process = RankProcess(rank, self._command, output, stdin)
            self._all.append(process)
            self._running.append(process)
            for stream in output.streams:
                self._selector.register(stream.channel.read_end, selectors.EVENT_READ, stream)

    def _wait(self, signals: int) -> None:
        now = time.monotonic()
        until = min(self._end_at, self._kill_at, self._next_survivor_check())
        timeout = None if until == _FOREVER else max(0.0, until - now)
        if self._terminal.is_blocked:
            timeout = _BLOCKED_S if timeout is None else min(timeout, _BLOCKED_S)
        if timeout is not None and self._terminal.is_blocked and not self._asked_to_end:
            self._terminal.wait(signals, timeout)  # then the ranks wait as well
            self._read_signals(signals)
        else:
            self._read_all(signals, timeout)
        for process in list(self._running):
            if process.poll():
                self._on_end(process)
        self._on_time(time.monotonic())

    def _read_all(self, signals: int, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._read_signals(signals)
            else:
                self._pump(key.data)
        self._terminal.flush()

    def _read_signals(self, signals: int) -> None:
        for number in _read_numbers(signals):
            self._on_signal(number)

    def _pump(self, stream: Stream) -> None:
        if not stream.pump():
            self._selector.unregister(stream.channel.read_end)

    def _on_signal(self, number: int) -> None:
        if number in FORWARDED:
            for process in self._running:
                process.send(number)
        elif number in ENDING:
            if self._asked_to_end:  # the second signal: the user does not want to wait
                self._kill_at = time.monotonic()
                return
            self._interrupted = number
            self._ask_to_end(number)

    def _on_end(self, process: RankProcess) -> None:
        self._running.remove(process)
        for stream in process.output.streams:
            if stream.channel.read_end in self._selector.get_map():
                self._pump(stream)
        if process.by_launcher:
            return
        now = time.monotonic()
        if self._waited_for_failing and not any(_is_failing(rest, now) for rest in self._running):
            self._end_at = now
        if process.status != 0:
            self._end_at = min(self._end_at, now + _SETTLE_S)
        else:
            self._first_good_end = min(self._first_good_end, process.ended_at)

    def _next_survivor_check(self) -> float:
        """Returns when to check for ranks that still run long after another rank has succeeded."""
        limit = self._options.exit_timeout_s
        times = [] if self._reported_still_running else [self._first_good_end + _STILL_RUNNING_S]
        if self._asked_to_end:
            return _FOREVER
        if limit is not None:
            times.append(self._first_good_end + limit)
        return min(times, default=_FOREVER)

    def _on_time(self, now: float) -> None:
        if now >= self._kill_at:
            self._kill_at = _FOREVER
            for process in self._running:
                process.killed = process.by_launcher = True
                process.kill_group()
        if now >= self._end_at and self._running:
            # A rank that has printed a traceback but not ended yet may have failed before all others.
            if (
                any(_is_failing(process, now) for process in self._running)
                and not self._waited_for_failing
            ):
                self._waited_for_failing = True
                self._end_at = now + _FAILING_S
            else:
                self._ask_to_end(signal.SIGTERM)
        limit = self._options.exit_timeout_s
        if not self._running or self._asked_to_end:
            return
        if limit is not None and now >= self._first_good_end + limit:
            for process in self._running:
                process.hung = True
            self._ask_to_end(signal.SIGTERM)
        elif now >= self._first_good_end + _STILL_RUNNING_S and not self._reported_still_running:
            self._reported_still_running = True
            running = [process.rank.rank for process in self._running]
            self._note(still_running_text(running, _STILL_RUNNING_S))

    def _ask_to_end(self, number: int) -> None:
        """Sends `number` to all ranks and starts the grace period.

        Ranks that are stopped this way do not count as failed. Therefore ranks that have already ended are handled
        first.
        """
        for process in list(self._running):
            if process.poll():
                self._on_end(process)
            else:
                process.by_launcher = True
                process.send(number)
        self._asked_to_end = self._terminal.drops = True
        self._end_at = _FOREVER
        self._kill_at = time.monotonic() + self._options.grace_s

    def _clean_up(self, signals: int) -> None:
        """Ends all processes, even after an exception in the supervisor."""
        for process in self._running:
            process.by_launcher = True
            process.kill_group()
        for process in self._all:
            process.end_leftover_processes(_LEFTOVER_S)
            process.reap()
        self._selector.close()
        for process in self._all:
            process.output.finish()
        self._write_rest(signals)

    def _write_rest(self, signals: int) -> None:
        """Waits until the readers have taken everything, after a signal only for a moment."""
        until = time.monotonic() + _LEFTOVER_S if self._interrupted else _FOREVER
        while self._terminal.is_blocked and time.monotonic() < until:
            self._terminal.wait(signals, _BLOCKED_S)
            ending = [number for number in _read_numbers(signals) if number in ENDING]
            if ending:
                self._interrupted = self._interrupted or ending[0]
                break
        self._terminal.discard()

    def _print_note(self, text: str) -> None:
        self._terminal.write_line(f"tundish: {text}".encode())

    def _ending(self, process: RankProcess) -> Ending:
        raised = process.status != 0 and _is_failing(process, process.ended_at)
        failed_at = (process.output.stderr.traceback_at if raised else None) or process.ended_at
        lines = [line.decode("utf-8", "replace") for line in process.output.stderr.tail]
        path = process.output.log_path
        return Ending(
            rank=process.rank.rank,
            status=process.status or 0,
            seconds=process.ended_at - self._begin,
            failed_s=failed_at - self._begin,
            by_launcher=process.by_launcher,
            killed=process.killed,
            hung=process.hung,
            tail=last_lines(lines, raised),
            raised=raised,
            log=None if path is None else str(path),
        )


def _is_failing(process: RankProcess, now: float) -> bool:
    at = process.output.stderr.traceback_at
    return at is not None and now - at < _TRACEBACK_S


def _read_numbers(descriptor: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(descriptor, 4096)
    return b""


@contextlib.contextmanager
def _signals_as_bytes() -> Iterator[int]:
    """Yields a descriptor from which the numbers of incoming signals can be read.

    Signals that were ignored when the launcher started (nohup) stay ignored.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    before: dict[int, Any] = {}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (*ENDING, *FORWARDED, signal.SIGCHLD):
        if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda *_: None)
    try:
        yield read_end
    finally:
        for changed, handler in before.items():
            signal.signal(changed, handler)
        signal.set_wakeup_fd(wakeup)
        os.close(read_end)
        os.close(write_end)
