"""Starts the ranks, hands on what they print, and ends all of them when one fails.

One thread, one loop: it waits for output, for signals (a child's end is one) and for deadlines.
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

from .failure import Ending, first_failure, last_lines, oom_kills_so_far, still_running_text
from .output import RankOutput, Stream, Terminal
from .processes import RankProcess
from .rank_plan import Rank

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)  # schedulers announce the end of a job by them
_SETTLE_S = 0.5  # after the first failure: what else fails by itself may say why
_FAILING_S = 5.0  # more for ranks that printed a traceback and have not ended yet
_TRACEBACK_S = 30.0  # an older traceback was caught: the rank went on after it
_LEFT_OVER_S = 2.0
_STILL_RUNNING_S = 30.0
_FOREVER = float("inf")


@dataclass(frozen=True)
class SupervisorOptions:
    grace_s: float = 10.0  # between the request to end and SIGKILL
    exit_timeout_s: float | None = None  # for the other ranks, once one has ended well
    logs: Path | None = None
    stdout: int = 1  # descriptor that the first rank's stdout goes to


@dataclass
class Outcome:
    endings: list[Ending]
    seconds: float
    interrupted: int = 0  # the signal that ended the run
    oom_kills: int = 0

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 128 + self.interrupted
        first = first_failure(self.endings)
        if first is not None:
            return first.exit_code
        return 1 if any(one.hung for one in self.endings) else 0


class Supervisor:
    def __init__(
        self,
        ranks: Sequence[Rank],
        command: list[str],
        options: SupervisorOptions,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """note: gets a message for the user while the ranks run; default: a line on stderr."""
        self._ranks = ranks
        self._command = command
        self._options = options
        self._terminal = Terminal()
        self._note = note or self._say
        self._running: list[RankProcess] = []
        self._all: list[RankProcess] = []
        self._selector = selectors.DefaultSelector()
        self._interrupted = 0
        self._end_at = _FOREVER  # when ranks are asked to end
        self._kill_at = _FOREVER
        self._first_good_end = _FOREVER
        self._told_still_running = False
        self._waited_for_failing = False
        self._asked_to_end = False

    def run(self) -> Outcome:
        """Blocks until all ranks have ended. Main thread only: signals are the launcher's."""
        self._begin = time.monotonic()
        oom_kills = oom_kills_so_far()
        with _signals_as_bytes() as signals:
            self._selector.register(signals, selectors.EVENT_READ)
            try:
                self._start()
                while self._running:
                    self._wait(signals)
            finally:
                self._clean_up()
        seconds = time.monotonic() - self._begin
        endings = [self._ending(one) for one in self._all]
        return Outcome(endings, seconds, self._interrupted, oom_kills_so_far() - oom_kills)

    def _start(self) -> None:
        for i, rank in enumerate(self._ranks):
            output = RankOutput(
                rank.rank, i == 0, self._terminal, self._options.logs, self._options.stdout
            )
            stdin = None if i == 0 else subprocess.DEVNULL
            one = RankProcess(rank, self._command, output, stdin)
            self._all.append(one)
            self._running.append(one)
            for stream in output.streams:
                self._selector.register(stream.channel.read_end, selectors.EVENT_READ, stream)

    def _wait(self, signals: int) -> None:
        now = time.monotonic()
        until = min(self._end_at, self._kill_at, self._next_look())
        timeout = None if until == _FOREVER else max(0.0, until - now)
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                for number in _read_numbers(signals):
                    self._on_signal(number)
            else:
                self._pump(key.data)
        for one in list(self._running):
            if one.look():
                self._on_end(one)
        self._on_time(time.monotonic())

    def _pump(self, stream: Stream) -> None:
        if not stream.pump():
            self._selector.unregister(stream.channel.read_end)

    def _on_signal(self, number: int) -> None:
        if number in PASSED_ON:
            for one in self._running:
                one.send(number)
        elif number in ENDING:
            if self._asked_to_end:  # the second one, or somebody does not want to wait: at once
                self._kill_at = time.monotonic()
                return
            self._interrupted = number
            self._ask_to_end(number)

    def _on_end(self, one: RankProcess) -> None:
        self._running.remove(one)
        for stream in one.output.streams:
            if stream.channel.read_end in self._selector.get_map():
                self._pump(stream)
        if one.by_launcher:
            return
        now = time.monotonic()
        if self._waited_for_failing and not any(_is_failing(rest, now) for rest in self._running):
            self._end_at = now
        if one.status != 0:
            self._end_at = min(self._end_at, now + _SETTLE_S)
        else:
            self._first_good_end = min(self._first_good_end, one.ended_at)

    def _next_look(self) -> float:
        """When ranks that outlive another one are looked at."""
        limit = self._options.exit_timeout_s
        looks = [] if self._told_still_running else [self._first_good_end + _STILL_RUNNING_S]
        if self._asked_to_end:
            return _FOREVER
        if limit is not None:
            looks.append(self._first_good_end + limit)
        return min(looks, default=_FOREVER)

    def _on_time(self, now: float) -> None:
        if now >= self._kill_at:
            self._kill_at = _FOREVER
            for one in self._running:
                one.killed = one.by_launcher = True
                one.kill_group()
        if now >= self._end_at and self._running:
            # One that is about to end by itself failed too, perhaps before all others.
            if any(_is_failing(one, now) for one in self._running) and not self._waited_for_failing:
                self._waited_for_failing = True
                self._end_at = now + _FAILING_S
            else:
                self._ask_to_end(signal.SIGTERM)
        limit = self._options.exit_timeout_s
        if not self._running or self._asked_to_end:
            return
        if limit is not None and now >= self._first_good_end + limit:
            for one in self._running:
                one.hung = True
            self._ask_to_end(signal.SIGTERM)
        elif now >= self._first_good_end + _STILL_RUNNING_S and not self._told_still_running:
            self._told_still_running = True
            running = [one.rank.rank for one in self._running]
            self._note(still_running_text(running, _STILL_RUNNING_S))

    def _ask_to_end(self, number: int) -> None:
        """Of ranks that were asked, the end is no failure. One that has ended meanwhile is no
        surprise either, so it is looked at first."""
        for one in list(self._running):
            if one.look():
                self._on_end(one)
            else:
                one.by_launcher = True
                one.send(number)
        self._asked_to_end = True
        self._end_at = _FOREVER
        self._kill_at = time.monotonic() + self._options.grace_s

    def _clean_up(self) -> None:
        """Also after an exception here: no process stays behind."""
        for one in self._running:
            one.by_launcher = True
            one.kill_group()
        for one in self._all:
            one.end_left_over(_LEFT_OVER_S)
            one.reap()
        self._selector.close()
        for one in self._all:
            one.output.finish()

    def _say(self, text: str) -> None:
        self._terminal.line(f"tundish: {text}".encode())

    def _ending(self, one: RankProcess) -> Ending:
        raised = one.status != 0 and _is_failing(one, one.ended_at)
        failed_at = (one.output.stderr.traceback_at if raised else None) or one.ended_at
        lines = [line.decode("utf-8", "replace") for line in one.output.stderr.tail]
        path = one.output.log_path
        return Ending(
            rank=one.rank.rank,
            status=one.status or 0,
            seconds=one.ended_at - self._begin,
            failed_s=failed_at - self._begin,
            by_launcher=one.by_launcher,
            killed=one.killed,
            hung=one.hung,
            tail=last_lines(lines, raised),
            raised=raised,
            log=None if path is None else str(path),
        )


def _is_failing(one: RankProcess, now: float) -> bool:
    at = one.output.stderr.traceback_at
    return at is not None and now - at < _TRACEBACK_S


def _read_numbers(descriptor: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(descriptor, 4096)
    return b""


@contextlib.contextmanager
def _signals_as_bytes() -> Iterator[int]:
    """A descriptor from which the numbers of incoming signals are read. A signal that the launcher
    was started with as ignored (nohup) stays ignored."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    before: dict[int, Any] = {}
    wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (*ENDING, *PASSED_ON, signal.SIGCHLD):
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
