"""The process of one rank, started in its own process group and polled without being reaped.

An ended process stays a zombie until reap(). Its pid, which is also the group id, therefore cannot
be reused by another program while signals are still sent to the group.
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
        """With `stdin=None`, the rank inherits the launcher's stdin, so that breakpoint() works."""
        cpus = "" if rank.cpus is None else ",".join(map(str, rank.cpus))
        argv = [sys.executable, "-I", "-S", _START, str(os.getpid()), cpus, *command]
        self.rank = rank
        self.output = output
        self.status: int | None = None  # exit code, or minus the signal number; None while it runs
        self.ended_at = 0.0  # time of the end, by time.monotonic()
        self.by_launcher = False
        self.killed = False
        self.hung = False
        self._process = subprocess.Popen(
            argv,
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

    def poll(self) -> bool:
        """Returns whether the process has ended since the last call."""
        if self.status is not None:
            return False
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return False
        self.ended_at = time.monotonic()
        self.status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return True

    def send(self, number: int) -> None:
        """Sends a signal to the rank alone, not to its group.

        A rank that saves a checkpoint while it ends may still need its loader's workers.
        """
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def end_leftover_processes(self, seconds: float) -> None:
        """Terminates, then kills, processes that the rank started and left running."""
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
    """Returns the pids of the processes in a group, except zombies."""
    found = []
    for entry in os.listdir(proc):
        if entry.isdigit():
            try:
                text = Path(proc, entry, "stat").read_text(errors="replace")
            except OSError:  # the process has ended
                continue
            state, _, its_group = text.rpartition(")")[2].split()[
                :3
            ]  # the process name may contain any character
            if int(its_group) == group and state not in "ZX":
                found.append(int(entry))
    return found


def _merged(given: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    return {**given, **more}
