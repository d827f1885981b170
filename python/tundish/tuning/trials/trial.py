"""The parent's side of a trial: starts the child, asks it, ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from multiprocessing.connection import Pipe, wait
from typing import Any

from ..._c.errors import ArgumentError
from ...child_python import child_command
from ..job import JobSource
from ..tricks import Trick, in_order

_START = "from tundish.tuning.trials.trial_process import main; main(int(sys.argv[1]))"
SLOWEST_TURN_S = 120.0


class TrialFailed(RuntimeError):
    """A trial's process failed; `kind` is "out of memory", "capture", "hang", "late", "died" or "error"."""

    def __init__(self, text: str, kind: str, details: str = "") -> None:
        super().__init__(text)
        self.kind, self.details = kind, details


class TrialProcess:
    """One child process. Requests go out by send(), replies come by receive(): several can be busy."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        ours, theirs = Pipe()
        self._connection = ours
        try:
            self._process = subprocess.Popen(
                [*child_command(_START), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,  # a group of its own: ended with everything that it started
            )
        except BaseException:  # Ctrl-C too; a child that was started already ends without its pipe
            ours.close()
            self._errors.close()
            raise
        finally:
            theirs.close()
        self._waiting_until = 0.0
        self._environment: dict[str, str] = {}

    def use_cache(self, folder: str) -> None:
        """Where compiled kernels go; to be said before the first request."""
        self._environment = {
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),
            "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
        }

    def send(self, do: str, timeout_s: float, **words: Any) -> None:
        self._waiting_until = time.monotonic() + timeout_s
        try:
            self._connection.send({"do": do, "environment": self._environment, **words})
        except (BrokenPipeError, OSError):
            raise self._died() from None

    def is_late(self) -> bool:
        return time.monotonic() > self._waiting_until

    def receive(self) -> Any:
        """The reply. TrialFailed if the child failed, died or did not answer in time."""
        left = self._waiting_until - time.monotonic()
        if not self._connection.poll(max(0.0, left)):
            tail = self._tail()
            self.end()
            raise TrialFailed("it did not answer in time and was ended", "hang", tail)
        try:
            reply = self._connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._died() from None
        if isinstance(reply, dict) and "failed" in reply:
            if reply["kind"] == "argument":
                raise ArgumentError(reply["failed"])
            raise TrialFailed(reply["failed"], reply["kind"], reply["traceback"])
        return reply

    def ask(self, do: str, timeout_s: float = SLOWEST_TURN_S, **words: Any) -> Any:
        self.send(do, timeout_s, **words)
        return self.receive()

    def prepare(
        self,
        source: JobSource,
        tricks: Iterable[Trick],
        seed: int,
        steps: int,
        timeout_s: float,
        nudge: int = 0,
    ) -> None:
        """Starts the preparation; receive() waits for it."""
        values = [trick.as_json() for trick in in_order(tricks)]
        self.send(
            "prepare", timeout_s, source=source, tricks=values, seed=seed, steps=steps, nudge=nudge
        )

    def pause(self) -> None:
        """Stops a child that is busy, so that another one can be timed."""
        self._signal(signal.SIGSTOP)

    def resume(self, paused_s: float) -> None:
        self._waiting_until += paused_s
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Ends the child and everything that it started. Waits until it is gone."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._connection.close()
        self._errors.close()

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _died(self) -> TrialFailed:
        code = self._process.wait()
        tail = self._tail()
        self.end()
        last = tail.strip().splitlines()[-1:] or [""]
        return TrialFailed(f"its process ended with {_word(code)}: {last[0]}", "died", tail)

    def _tail(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4000))
        return self._errors.read().decode("utf-8", "replace")


def ready(processes: dict[str, TrialProcess], wait_s: float) -> list[str]:
    """Those that have answered, are gone or are late: receive() will not block."""
    connections = {process._connection: name for name, process in processes.items()}
    answered = {connections[one] for one in wait(list(connections), wait_s)}  # type: ignore[index]
    return [name for name, process in processes.items() if name in answered or process.is_late()]


def _word(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"status {code}"
