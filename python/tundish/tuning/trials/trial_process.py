"""The child process of a trial. trial.py starts it with the number of a file descriptor.

The child builds the job, applies the tricks and runs the first steps. Then it handles requests:

    {"do": "prepare", ...}  -> losses of the first steps, one-off costs
    {"do": "turn", "steps"} -> ms per step, host ms per step
    {"do": "memory"}        -> peak bytes
    {"do": "call", "function": "module:name", ...}  -> return value of that function (numerics, memory)

The child is idle between two requests, so that only one trial is timed at a time.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import select
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

import torch

from ..._c.errors import ArgumentError
from ..batch_structure import nudged
from ..job import Job, JobSource, set_seeds
from ..step import Step
from ..step_graph import CannotCapture
from ..tricks import in_order, trick_from_json
from ..tricks.compile import compiled_graphs
from .trial import IN_TRIAL

_DIE_WITH_PARENT = 1  # prctl(PR_SET_PDEATHSIG, ...)


class Trial:
    """The job with its tricks applied, ready to be timed."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.step: Step | None = None
        self._next = 0

    def prepare(
        self, source: JobSource, tricks: list[dict[str, Any]], seed: int, steps: int, nudge: int = 0
    ) -> dict[str, Any]:
        """Builds the job, applies the tricks and runs the first steps.

        nudge  if above 0, changes the inputs by half a unit in the last place, and the random numbers of
               the training. The results then show the noise between identical runs
        """
        begin = time.perf_counter()
        self.job = job = source.make(seed)
        step = self.step = Step(job.model, job.optimizer, job.loss_fn)
        step.shapes_vary = job.shapes_vary
        step.must_capture = True
        if nudge:
            job.batches = [nudged(batch, nudge) for batch in job.batches]
        made_at = time.perf_counter()
        for trick in in_order(trick_from_json(values) for values in tricks):
            obstacle = trick.obstacle(step)
            if obstacle:
                return {"obstacle": f"{trick.title}: {obstacle}"}
            trick.apply(step)
        set_seeds(seed + nudge)
        scales = [] if step.scaler is None else [step.scaler.get_scale()]
        losses: list[torch.Tensor] = []
        ends: list[float] = []
        for _ in range(steps):
            losses.append(self._one())
            if step.scaler is not None:
                scales.append(step.scaler.get_scale())
            if len(ends) < 8:  # wait for each of the first steps, which include one-off work
                self._wait()
                ends.append(time.perf_counter())
        self._wait()
        done_at = time.perf_counter()
        later = max(1, steps - len(ends))
        usual_s = (done_at - ends[-1]) / later if steps > len(ends) else 0.0
        return {
            "losses": [float(loss) for loss in losses],
            "build_s": made_at - begin,
            "one_off_s": max(0.0, ends[-1] - made_at - len(ends) * usual_s) if ends else 0.0,
            "step_ms": 1e3 * usual_s,
            "device": describe_device(step.device),
            "memory_total": total_memory(step.device),
            "scales": scales,
            "graphs": compiled_graphs(),
        }

    def turn(self, steps: int) -> dict[str, Any]:
        """Times `steps` steps, with CUDA events on a GPU and with the clock on a CPU."""
        assert self.step is not None
        cuda = self.step.device.type == "cuda"
        for _ in range(1 + steps // 20):  # warm-up: caches and GPU clocks went cold between turns
            self._one()
        self._wait()
        if cuda:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
        began = time.perf_counter()
        for _ in range(steps):
            self._one()
        issued = time.perf_counter()
        if cuda:
            end.record()
            end.synchronize()
            ms = begin.elapsed_time(end)
        else:
            ms = 1e3 * (issued - began)
        return {"ms": ms / steps, "host_ms": 1e3 * (issued - began) / steps}

    def memory(self) -> dict[str, Any]:
        if self.step is None or self.step.device.type != "cuda":
            import resource

            return {"peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
        return {"peak": torch.cuda.max_memory_reserved(self.step.device)}

    def _one(self) -> torch.Tensor:
        assert self.job is not None
        assert self.step is not None
        batch = self.job.batches[self._next % len(self.job.batches)]
        self._next += 1
        return self.step(batch)

    def _wait(self) -> None:
        """Sleeps until the GPU is done. torch's own wait would occupy a CPU that other trials compile on."""
        if self.step is not None and self.step.device.type == "cuda":
            done = torch.cuda.Event(blocking=True)
            done.record(torch.cuda.current_stream(self.step.device))
            done.synchronize()


def describe_device(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)


def total_memory(device: torch.device) -> int:
    return int(torch.cuda.mem_get_info(device)[1]) if device.type == "cuda" else 0


def answer(trial: Trial, request: dict[str, Any]) -> Any:
    arguments = dict(request)
    do = arguments.pop("do")
    os.environ.update(arguments.pop("environment", {}))  # must precede importing the compiler
    if do == "call":
        module, _, name = arguments.pop("function").partition(":")
        return getattr(importlib.import_module(module), name)(**arguments)
    return getattr(trial, do)(**arguments)


def failure(error: BaseException) -> dict[str, Any]:
    """Returns the reply for an error, which the parent raises or reports."""
    kind = "error"
    if isinstance(error, torch.OutOfMemoryError):
        kind = "out of memory"
    elif isinstance(error, ArgumentError):
        kind = "argument"
    elif isinstance(error, CannotCapture):
        kind = "capture"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = str(error) if kind == "argument" else lines[0]
    return {
        "failed": text,
        "kind": kind,
        "type": type(error).__name__,
        "traceback": "".join(traceback.format_exception(error)),
    }


def is_closed(connection: Connection) -> bool:
    """Returns whether the parent has ended. If it ended before prctl(), the child gets no signal."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLRDHUP)
    return bool(poll.poll(0))


def main(fd: int) -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    os.environ[IN_TRIAL] = "1"
    connection, trial = Connection(fd), Trial()
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if is_closed(connection):
            return
        try:
            reply = answer(trial, request)
        except BaseException as error:
            reply = failure(error)
        connection.send(reply)


if __name__ == "__main__":
    main(int(sys.argv[1]))
