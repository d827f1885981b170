"""The parent's side of a trial: starts the child process, sends requests to it and ends it."""

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
IN_TRIAL = "TUNDISH_TUNE_TRIAL"  # environment variable, set for every trial and its children


class TrialFailed(RuntimeError):
    """Raised if the process of a trial fails.

    `kind` is "out of memory", "capture", "hang", "late", "died" or "error".
    """

    def __init__(self, text: str, kind: str, details: str = "") -> None:
        super().__init__(text)
        self.kind, self.details = kind, details


class TrialProcess:
    """A child process of a trial. send() does not wait for the reply, so several processes can be busy."""

    def __init__(self) -> None:
        if IN_TRIAL in os.environ:  # a trial must not start trials, which would never end
            raise ArgumentError(
                "a trial imports your script, and the script starts a tuning run of its own\n"
                '  fix: put the call and what follows it below if __name__ == "__main__":'
            )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        own_end, child_end = Pipe()
        self._connection = own_end
        try:
            self._process = subprocess.Popen(
                [*child_command(_START), str(child_end.fileno())],
                pass_fds=[child_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,  # its own process group, so that all its children end with it
            )
        except BaseException:  # includes Ctrl-C; a child that has started ends when its pipe closes
            own_end.close()
            self._errors.close()
            raise
        finally:
            child_end.close()
        self._waiting_until = 0.0
        self._environment: dict[str, str] = {}

    def use_cache(self, folder: str) -> None:
        """Sets the folder for compiled kernels. Must be called before the first request."""
        self._environment = {
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),
            "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
        }

    def send(self, do: str, timeout_s: float, **arguments: Any) -> None:
        self._waiting_until = time.monotonic() + timeout_s
        try:
            self._connection.send({"do": do, "environment": self._environment, **arguments})
        except (BrokenPipeError, OSError):
            raise self._died() from None

    def is_late(self) -> bool:
        return time.monotonic() > self._waiting_until

    def receive(self) -> Any:
        """Returns the reply. Raises TrialFailed if the child failed, died or did not answer in time."""
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

    def ask(self, do: str, timeout_s: float = SLOWEST_TURN_S, **arguments: Any) -> Any:
        self.send(do, timeout_s, **arguments)
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
        """Tells the child to prepare the job. receive() waits until the job is prepared."""
        values = [trick.as_json() for trick in in_order(tricks)]
        self.send(
            "prepare", timeout_s, source=source, tricks=values, seed=seed, steps=steps, nudge=nudge
        )

    def pause(self) -> None:
        """Suspends a busy child, so that another child can be timed."""
        self._signal(signal.SIGSTOP)

    def resume(self, paused_s: float) -> None:
        self._waiting_until += paused_s
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Ends the child and all its descendants. Waits for the child to exit."""
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
        return TrialFailed(f"its process ended with {_exit_text(code)}: {last[0]}", "died", tail)

    def _tail(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4000))
        return self._errors.read().decode("utf-8", "replace")


def ready(processes: dict[str, TrialProcess], wait_s: float) -> list[str]:
    """Returns the names of processes that have replied, died or are late. receive() does not block then."""
    connections = {process._connection: name for name, process in processes.items()}
    answered = {connections[source] for source in wait(list(connections), wait_s)}  # type: ignore[index]
    return [name for name, process in processes.items() if name in answered or process.is_late()]


def _exit_text(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"status {code}"
