"""The process of one rank: started in a process group of its own, looked at without being reaped.

An ended process stays a zombie until reap(): so its number, which is the number of its group, cannot
pass to a stranger while signals are still sent to the group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from .output import RankOutput
from .rank_plan import Rank

_START = str(Path(__file__).with_name("start_rank.py"))


class RankProcess:
    def __init__(self, rank: Rank, command: list[str], output: RankOutput, stdin: int | None):
        """stdin: None inherits the launcher's, for breakpoint()."""
        cpus = "" if rank.cpus is None else ",".join(map(str, rank.cpus))
        words = [sys.executable, "-I", "-S", _START, str(os.getpid()), cpus, *command]
        self.rank = rank
        self.output = output
        self.status: int | None = None  # exit code, or minus the signal; None: it runs
        self.ended_at = 0.0  # monotonic
        self.by_launcher = False
        self.killed = False
        self.hung = False
        self._process = subprocess.Popen(
            words,
            stdin=stdin,
            stdout=output.stdout.channel.write_end,
            stderr=output.stderr.channel.write_end,
            env=_merged(os.environ, rank.environment),
            start_new_session=True,
        )
        for stream in output.streams:
            stream.channel.close_writer()

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> bool:
        """Whether it has ended since the last look."""
        if self.status is not None:
            return False
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return False
        self.ended_at = time.monotonic()
        self.status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return True

    def send(self, number: int) -> None:
        """To the rank alone: its loader's workers belong to it, and a rank that saves a checkpoint
        while it ends may still need them."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def end_left_over(self, seconds: float) -> None:
        """What the rank started and left behind: asked to end, then killed."""
        if group_members(self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)
            until = time.monotonic() + seconds
            while group_members(self.pid) and time.monotonic() < until:
                time.sleep(0.02)
            self.kill_group()

    def reap(self) -> None:
        self._process.wait()


def group_members(group: int, proc: str | Path = "/proc") -> list[int]:
    """The living processes of a group; zombies are none."""
    found = []
    for entry in os.listdir(proc):
        if entry.isdigit():
            try:
                text = Path(proc, entry, "stat").read_text(errors="replace")
            except OSError:  # it has ended
                continue
            state, _, its_group = text.rpartition(")")[2].split()[:3]  # the name may hold anything
            if int(its_group) == group and state not in "ZX":
                found.append(int(entry))
    return found


def _merged(given: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    return {**given, **more}
