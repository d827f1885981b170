"""Describes the failure of a run: which rank failed first, its last lines of output, and a fix."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRACEBACK = "Traceback (most recent call last):"
# First words of a crash report: C++ terminate, and Python's fault handler.
_CRASH = ("terminate called ", "Fatal Python error:")
_SHOWN_LINES = 20
_SEEN = 0.05  # seconds; a smaller difference does not show which rank was first


@dataclass
class Ending:
    """How the process of one rank ended."""

    rank: int
    status: int  # exit code, or minus the signal number
    seconds: float  # time from the start of the run to the end of the process
    failed_s: float = 0.0  # time of its last traceback if it raised, otherwise of its end
    raised: bool = False  # whether it printed a traceback shortly before it ended
    by_launcher: bool = False  # whether the launcher stopped it, due to another rank or a signal
    killed: bool = False  # whether it was stopped by SIGKILL after the grace time
    hung: bool = False  # whether it was stopped because other ranks had ended long before
    tail: list[str] = field(default_factory=list)  # last lines of its stderr
    log: str | None = None

    @property
    def failed(self) -> bool:
        return self.status != 0 and not self.by_launcher

    @property
    def exit_code(self) -> int:
        return self.status if self.status >= 0 else 128 - self.status

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "exit": self.exit_code,
            "signal": signal_name(-self.status) if self.status < 0 else None,
            "seconds": round(self.seconds, 3),
            "ended_by_launcher": self.by_launcher,
            "log": self.log,
        }


def first_failure(endings: Sequence[Ending]) -> Ending | None:
    """Returns the rank that failed first, or None.

    A failing rank causes failures in other ranks ("connection closed by peer"), which may even end before it does.
    The time of the traceback decides, because a rank prints its traceback before it closes any connection.
    """
    failed = [ending for ending in endings if ending.failed]
    return min(failed, key=lambda ending: ending.failed_s, default=None)


def failure_text(endings: Sequence[Ending], oom_kills: int = 0) -> str:
    """Returns a message about the failure, without the prefix "tundish: ". Returns "" if no rank failed."""
    first = first_failure(endings)
    hung = [ending for ending in endings if ending.hung]
    if first is None:
        return _hung_text(hung) if hung else ""
    text = f"rank {first.rank} failed first: {_describe_end(first)} after {first.seconds:.1f} s"
    if first.tail:
        text += "\n  last lines of its stderr:"
        text += "".join(f"\n  | {line}" for line in first.tail)
    for ending in sorted(endings, key=lambda ending: ending.failed_s):
        if ending.failed and ending is not first:
            later = ending.failed_s - first.failed_s
            when = f"{later:.1f} s later" if later >= _SEEN else "at the same time"
            text += f"\n  rank {ending.rank} failed {when}: {_describe_end(ending)}"
    text += _ended_text(endings)
    if first.log:
        text += f"\n  log: {first.log}"
    fix = _remedy(first, oom_kills)
    return text + (f"\n  fix: {fix}" if fix else "")


def _hung_text(hung: Sequence[Ending]) -> str:
    names = _names(hung)
    return (
        f"{names} still ran long after another rank had exited with code 0, and was ended\n"
        "  fix: every rank needs the same number of steps and collectives (all_reduce, barrier):\n"
        "       equally many batches on all ranks, and no early return on one rank"
    )


def still_running_text(running: Sequence[int], seconds: float) -> str:
    names = _rank_list(running)
    verb = "runs" if len(running) == 1 else "run"
    return (
        f"{names} still {verb} {seconds:.0f} s after another rank exited with code 0; a rank that "
        "waits for it in a collective waits forever\n"
        "  fix: if there is no progress, press Ctrl-C; --exit-timeout S ends such runs automatically"
    )


def _ended_text(endings: Sequence[Ending]) -> str:
    quiet = [ending for ending in endings if ending.by_launcher and not ending.killed]
    killed = [ending for ending in endings if ending.by_launcher and ending.killed]
    text = f"\n  {_names(quiet)}: ended by the launcher" if quiet else ""
    if killed:
        text += f"\n  {_names(killed)}: killed by the launcher, did not end in the grace time"
    return text


def _names(endings: Sequence[Ending]) -> str:
    return _rank_list([ending.rank for ending in endings])


def _rank_list(ranks: Sequence[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


def _describe_end(ending: Ending) -> str:
    if ending.status >= 0:
        return f"exit code {ending.status}"
    return f"killed by {signal_name(-ending.status)}"


def last_lines(lines: Sequence[str], raised: bool) -> list[str]:
    """Returns the last lines of a rank's stderr that the user should see.

    A rank that raised an exception may also crash on exit, because threads of the process group still run. The
    exception is the cause, so lines printed by the crash are left out.
    """
    starts = [i for i, line in enumerate(lines) if line.startswith(TRACEBACK)]
    end = len(lines)
    if raised and starts:
        after = range(starts[-1], len(lines))
        end = next((i for i in after if lines[i].startswith(_CRASH)), end)
    return list(lines[max(0, end - _SHOWN_LINES) : end])


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _remedy(ending: Ending, oom_kills: int) -> str:
    """Returns a fix for a process that ended without an error message, or "" if there is none."""
    if ending.status == -signal.SIGKILL:
        who = (
            "the kernel killed it because the job reached its memory limit"
            if oom_kills
            else "usually the kernel, which ran out of memory (dmesg | grep -i 'killed process')"
        )
        return (
            f"{who}: all ranks share the machine's memory.\n"
            "       Use fewer workers or a smaller batch per rank, limit the loader\n"
            '       (tundish.Loader(memory="8GiB")), use fewer --ranks, or give the job more memory'
        )
    if ending.status == -signal.SIGBUS:
        return "is /dev/shm full? See df -h /dev/shm; in a container: docker run --shm-size=8g, or --ipc=host"
    if ending.raised:
        return ""
    if ending.status in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE):
        return "C++ or CUDA code crashed; the lines above show the Python line. Set CUDA_LAUNCH_BLOCKING=1 for the exact line"
    if ending.status == -signal.SIGTERM:
        return "another process ended it: the scheduler's time limit, or kill"
    return ""


def count_oom_kills(root: str | Path = "/") -> int:
    """Returns the number of OOM kills in this process's cgroup (version 2) and below."""
    try:
        groups = (Path(root) / "proc/self/cgroup").read_text()
        name = next(line[3:] for line in groups.splitlines() if line.startswith("0::"))
        events = Path(root) / "sys/fs/cgroup" / name.strip("/") / "memory.events"
        counters = dict(line.split() for line in events.read_text().splitlines())
        return int(counters.get("oom_kill", 0))
    except (OSError, StopIteration, ValueError):
        return 0
