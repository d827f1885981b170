"""Serves samples from worker processes, or from a thread of this process."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any

from .._c.errors import ArgumentError
from .._process.usable_cpus import usable_cpus
from ..child_python import child_command
from . import worker_process as worker
from .sample_set import SampleSet
from .serve import serve

# Environment variable that src/cli/pack/sockets_to_python.cpp reads.
_VARIABLE = "TUNDISH_SAMPLE_SOCKETS"
_START = "from tundish.samples.worker_process import main; main()"
# If one process can read all samples in less time, others are not started, because each would import torch.
_WORTH_SECONDS = 10.0
# Time limits for all processes, and for the thread, to end.
_END_SECONDS = 10.0
_THREAD_END_SECONDS = 1.0


class Workers:
    """Serves samples from construction until stop(). `sockets` are the program's ends of the connections."""

    def __init__(self, samples: SampleSet, processes: int | None) -> None:
        if worker.is_worker:
            raise ArgumentError(
                "this process was started by tundish.pack() and imports the script again\n"
                "  fix: call tundish.pack() below `if __name__ == '__main__':`, or with processes=0"
            )
        self.sockets: list[socket.socket] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._thread: threading.Thread | None = None
        self._lifeline: int | None = None
        self.count, self.one_process_reason, pickled = _plan(samples, processes)
        try:
            if pickled is None:
                self._serve_here(samples)
            else:
                with pickled:
                    self._start(self.count, pickled)
        except BaseException:
            self.stop()
            raise

    def popen_options(self) -> dict[str, Any]:
        """Returns options for starting the program that requests the samples."""
        numbers = [connection.fileno() for connection in self.sockets]
        return {"pass_fds": numbers, "env": os.environ | {_VARIABLE: ",".join(map(str, numbers))}}

    def stop(self) -> None:
        """Stops serving after the program has ended.

        Ctrl-C must not wait for a thread that is still making a sample. Therefore this method may return before the
        thread ends, which happens when its sample is finished.
        """
        for connection in self.sockets:
            connection.close()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        deadline = time.monotonic() + _END_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # stuck in library code that does not release the GIL
                process.kill()
                process.wait()
        if self._thread is not None:
            self._thread.join(_THREAD_END_SECONDS)

    def deaths(self) -> str:
        """Describes processes that ended unexpectedly. Call it after a connection was lost and before stop()."""
        deadline = time.monotonic() + 2  # a process closes its sockets shortly before it ends
        while not any(codes := [process.poll() for process in self._processes]):
            if not codes or time.monotonic() > deadline:
                return ""
            time.sleep(0.01)
        found = [f"process {n + 1} {_ending(code)}" for n, code in enumerate(codes) if code]
        return "; ".join(found)

    def _serve_here(self, samples: SampleSet) -> None:
        own_end, program_end = socket.socketpair()
        self.sockets.append(program_end)
        self._thread = threading.Thread(
            target=serve,
            args=[own_end, samples.description, samples.answers()],
            name="tundish samples",
            daemon=True,
        )
        self._thread.start()

    def _start(self, count: int, pickled: _Pickled) -> None:
        read_end, self._lifeline = os.pipe()
        try:
            for _ in range(count):
                own_end, program_end = socket.socketpair()
                self.sockets.append(program_end)
                with own_end:
                    self._processes.append(_start_one(own_end, read_end, pickled))
        finally:
            os.close(read_end)


class _Pickled:
    """A pickled dataset in an unnamed file, and the script that defines its classes."""

    def __init__(self, data: bytes, script: str) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by __exit__
        self.file.write(data)
        self.file.flush()
        self.script = script

    def __enter__(self) -> _Pickled:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _start_one(
    connection: socket.socket, lifeline: int, pickled: _Pickled
) -> subprocess.Popen[bytes]:
    descriptors = [connection.fileno(), lifeline, pickled.file.fileno()]
    argv = child_command(_START)
    argv += [*map(str, descriptors), pickled.script]
    # Each process has one thread, as in torch's DataLoader. It has a separate session, so that Ctrl-C reaches only
    # the calling process.
    env = {"OMP_NUM_THREADS": "1"} | os.environ
    return subprocess.Popen(
        argv, pass_fds=descriptors, env=env, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _plan(samples: SampleSet, processes: int | None) -> tuple[int, str, _Pickled | None]:
    """Returns the number of processes, why there are none (or ""), and the pickled dataset for them."""
    if processes is not None and processes < 0:
        raise ArgumentError(f"processes must be 0 or more, not {processes}")
    if samples.count is None:
        if processes:
            raise ArgumentError(
                f"processes={processes}: {samples.name} can only be iterated in a single process; "
                "processes need __len__ and __getitem__"
            )
        return 0, "it can only be iterated", None
    if processes == 0:
        return 0, "processes=0", None
    if processes is None:
        if samples.count * samples.seconds_each < _WORTH_SECONDS:
            return 0, "its samples are read quickly", None
        processes = usable_cpus()
        chosen = False
    else:
        chosen = True
    try:
        data = pickle.dumps((samples.dataset, samples.layout, samples.description), protocol=5)
    except Exception as error:
        if chosen:
            raise ArgumentError(
                f"processes={processes}: the dataset cannot be pickled: {error}\n  fix: pass processes=0"
            ) from error
        return 0, f"it cannot be pickled: {error}", None
    script = ""
    if b"__main__" in data:
        # Processes would import the script again, which would repeat its side effects.
        script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
        if not chosen:
            return (
                0,
                "its class is defined in the running script; a class in a module allows processes",
                None,
            )
        if not script:
            raise ArgumentError(
                f"processes={processes}: the class of the dataset is defined in this session, where "
                "no other process finds it\n  fix: move it to a module, or pass processes=0"
            )
    return min(processes, samples.count), "", _Pickled(data, script)


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
