"""Which rank failed first, in words: what happened, its last lines, what to do."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRACEBACK = "Traceback (most recent call last):"
# How the words of a crash begin: C++'s about a thread that nobody joined, the fault handler's.
_CRASH = ("terminate called ", "Fatal Python error:")
_SHOWN_LINES = 20
_SEEN = 0.05  # seconds: a shorter distance says nothing about who was first


@dataclass
class Ending:
    """How the process of one rank ended."""

    rank: int
    status: int  # exit code, or minus the signal's number
    seconds: float  # since the start
    failed_s: float = 0.0  # when it began to fail: its last traceback, else its end
    raised: bool = False  # it printed a traceback shortly before its end
    by_launcher: bool = False  # it was ended because of another rank or a signal
    killed: bool = False  # ... by SIGKILL, since it did not end in the grace time
    hung: bool = False  # ... because other ranks had ended long before
    tail: list[str] = field(default_factory=list)  # of its stderr
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
    """A rank that fails takes others with it ("connection closed by peer"), and these may even end
    before it: what counts is the time of the traceback, which is printed before anything is closed.
    """
    failed = [one for one in endings if one.failed]
    return min(failed, key=lambda one: one.failed_s, default=None)


def failure_text(endings: Sequence[Ending], oom_kills: int = 0) -> str:
    """For people, without "tundish: " in front. Empty: no rank failed."""
    first = first_failure(endings)
    hung = [one for one in endings if one.hung]
    if first is None:
        return _hung_text(hung) if hung else ""
    text = f"rank {first.rank} failed first: {_what(first)} after {first.seconds:.1f} s"
    if first.tail:
        text += "\n  the end of its stderr:"
        text += "".join(f"\n  | {line}" for line in first.tail)
    for one in sorted(endings, key=lambda one: one.failed_s):
        if one.failed and one is not first:
            later = one.failed_s - first.failed_s
            when = f"{later:.1f} s later" if later >= _SEEN else "at the same time"
            text += f"\n  rank {one.rank} failed {when}: {_what(one)}"
    text += _ended_text(endings)
    if first.log:
        text += f"\n  log: {first.log}"
    fix = _remedy(first, oom_kills)
    return text + (f"\n  fix: {fix}" if fix else "")


def _hung_text(hung: Sequence[Ending]) -> str:
    names = _names(hung)
    return (
        f"{names} still ran long after another rank had ended with exit code 0, and was ended\n"
        "  fix: every rank needs the same number of steps and collectives (all_reduce, barrier): a\n"
        "       loader with batches of equal number on all ranks, no early return on one rank"
    )


def still_running_text(running: Sequence[int], seconds: float) -> str:
    names = _rank_list(running)
    verb = "runs" if len(running) == 1 else "run"
    return (
        f"{names} still {verb} {seconds:.0f} s after another rank ended with exit code 0; a rank that "
        "waits for it in a collective waits forever\n"
        "  fix: if nothing moves, Ctrl-C; --exit-timeout S ends such a run by itself"
    )


def _ended_text(endings: Sequence[Ending]) -> str:
    quiet = [one for one in endings if one.by_launcher and not one.killed]
    killed = [one for one in endings if one.by_launcher and one.killed]
    text = f"\n  {_names(quiet)}: ended by the launcher" if quiet else ""
    if killed:
        text += f"\n  {_names(killed)}: killed by the launcher, did not end in the grace time"
    return text


def _names(some: Sequence[Ending]) -> str:
    return _rank_list([one.rank for one in some])


def _rank_list(ranks: Sequence[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


def _what(one: Ending) -> str:
    if one.status >= 0:
        return f"exit code {one.status}"
    return f"killed by {signal_name(-one.status)}"


def last_lines(lines: Sequence[str], raised: bool) -> list[str]:
    """What is shown of a rank's stderr. A rank that raised may crash while it ends, since threads of
    the process group still run: the exception is the reason, not what the crash printed."""
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


def _remedy(one: Ending, oom_kills: int) -> str:
    """For ends that leave no message of their own."""
    if one.status == -signal.SIGKILL:
        who = (
            "the kernel killed it, since this job's memory limit was reached"
            if oom_kills
            else "usually the kernel, which ran out of memory (dmesg | grep -i 'killed process')"
        )
        return (
            f"{who}: all ranks share the machine's memory.\n"
            "       Use fewer workers or a smaller batch per rank, limit the loader\n"
            '       (tundish.Loader(memory="8GiB")), use fewer --ranks, or give the job more memory'
        )
    if one.status == -signal.SIGBUS:
        return "is /dev/shm full? See df -h /dev/shm; in a container: docker run --shm-size=8g, or --ipc=host"
    if one.raised:
        return ""
    if one.status in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE):
        return "a crash in C++ or CUDA code; the lines above name the line of Python. CUDA_LAUNCH_BLOCKING=1 makes it exact"
    if one.status == -signal.SIGTERM:
        return "somebody else ended it: the scheduler's time limit, or kill"
    return ""


def oom_kills_so_far(root: str | Path = "/") -> int:
    """How often the kernel's OOM killer struck in this process's cgroup (version 2) and below."""
    try:
        groups = (Path(root) / "proc/self/cgroup").read_text()
        name = next(line[3:] for line in groups.splitlines() if line.startswith("0::"))
        events = Path(root) / "sys/fs/cgroup" / name.strip("/") / "memory.events"
        words = dict(line.split() for line in events.read_text().splitlines())
        return int(words.get("oom_kill", 0))
    except (OSError, StopIteration, ValueError):
        return 0
