"""find_batch_size: finds the smallest batch size that keeps the GPU busy, within a memory limit.

The largest batch that fits is rarely the best. From some size on, a larger batch does not train more
samples per second and only makes fewer updates per epoch. The recommended size is the smallest one
within 3 % of the best rate.
"""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ..._c.errors import ArgumentError
from ..batch_structure import map_tensors, samples_of
from ..job import Build, Job, JobSource, pickled_source, source_of
from ..memory.memory_limit import limit_bytes
from ..step import Step
from ..trials.known_failures import build_error, fix_of
from ..trials.polling import call_and_poll
from ..trials.trial import TrialFailed, TrialProcess
from ..trials.trial_process import describe_device
from ..tricks import Trick, in_order, trick_from_json
from .batch_search import BatchSearch, DoesNotFit, SizeTiming, split_batch

SLOWEST_SIZE_S = 300.0
TURN_S = 0.5
# Texts of RuntimeErrors that cuBLAS, cuDNN and the CPU allocator raise when memory runs out.
_OUT_OF_MEMORY = ("CUDA error: out of memory", "STATUS_ALLOC_FAILED", "can't allocate memory")


@dataclass(frozen=True)
class BatchPoint:
    """One batch size that `find_batch_size` measured."""

    batch: int  # batch size in samples
    samples_per_s: float  # samples per second
    step_ms: float  # duration of a step in milliseconds
    peak_bytes: int  # peak memory reserved by torch's allocator


@dataclass(frozen=True)
class BatchReport:
    """The recommended batch size and all measured sizes; `print(report)` shows a table."""

    batch: int  # recommended batch size
    points: tuple[BatchPoint, ...]  # every measured size, smallest first
    stopped: str  # why no larger size was tried
    samples_per_update: int  # samples per optimizer update
    micro_batch: int  # samples in one forward and backward pass
    accumulate: int  # micro-batches per update, for Accumulate(parts)
    noise: float = 0.0  # relative difference between repeated measurements
    low: int = 0  # smallest size that could be the answer, given the noise
    high: int = 0  # largest size that could be the answer, given the noise
    device: str = ""  # name of the device

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = ["  batch   samples/s    step ms    peak GiB"]
        for point in self.points:
            mark = "  <- use this" if point.batch == self.batch else ""
            lines.append(
                f"{point.batch:>7}{point.samples_per_s:>12,.0f}{point.step_ms:>11.2f}"
                f"{point.peak_bytes / 2**30:>12.2f}{mark}"
            )
        lines.append(f"larger sizes: {self.stopped}")
        range_ = "" if self.low == self.high else f": the answer may be {self.low} to {self.high}"
        lines.append(f"noise: equal measurements differed by {100 * self.noise:.1f} %{range_}")
        if self.accumulate > 1:
            lines.append(
                f"for {self.samples_per_update} samples per update: "
                f"{self.accumulate} micro-batches of {self.micro_batch}"
            )
        return "\n".join(lines)


def find_batch_size(
    build: Build | str | JobSource | Job,
    *,
    samples_per_update: int | None = None,
    memory: int | str | None = None,
    tolerance: float = 0.03,
    multiple: int = 8,
    max_batch_size: int = 65536,
    tricks: Sequence[Trick] = (),
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> BatchReport:
    """Finds the smallest batch size that trains almost as many samples per second as the best one.

    Trains with growing batches in a child process. Larger batches repeat the samples of the example
    batch.

    build               a function that returns model, optimizer, loss_fn, batch; or "train.py:build";
                        or a Job
    samples_per_update  samples per optimizer update, accumulated over several micro-batches if they
                        do not fit at once; default: the batch size that is found
    memory              memory limit in bytes, or a string such as "40GiB"; default: all memory of the
                        GPU, or half of the free memory on a CPU
    tolerance           accepted loss of speed: 0.03 accepts 3 % fewer samples per second than the best
    multiple            only try multiples of this number
    max_batch_size      largest size to try
    tricks              tricks to apply first, because precision and compilation change the answer
    seed                seed of the weights and of all random numbers
    progress            function to call with a line of text for each size
    """
    if not 0 <= tolerance < 1:
        raise ArgumentError(
            f"find_batch_size: tolerance must be from 0 to below 1, not {tolerance}"
        )
    if samples_per_update is not None and samples_per_update < 1:
        raise ArgumentError(
            f"find_batch_size: samples_per_update must be at least 1, not {samples_per_update}"
        )
    if multiple < 1 or max_batch_size < multiple:
        raise ArgumentError(
            f"find_batch_size: no multiple of {multiple} is at most max_batch_size={max_batch_size}"
        )
    cap = None if memory is None else limit_bytes(memory, "find_batch_size: memory")
    with tempfile.TemporaryDirectory() as folder:
        child = InChild(_source(build, folder), tricks, seed, progress)
        search = BatchSearch(
            measure=child,
            memory_cap_bytes=cap,
            tolerance=tolerance,
            multiple=multiple,
            max_batch_size=max_batch_size,
        )
        try:
            child.make()
            if cap is None:
                search.memory_cap_bytes = child.memory_limit
            knee = search.run()
        finally:
            child.end()
    return report_of(search, knee, samples_per_update, child.device)


def report_of(
    search: BatchSearch, knee: int, samples_per_update: int | None, device: str = ""
) -> BatchReport:
    points = tuple(
        BatchPoint(batch, result.rate, 1e3 * batch / result.rate, result.peak_bytes)
        for batch, result in sorted(search.results.items())
    )
    wanted = knee if samples_per_update is None else samples_per_update
    fits = search.largest_fit()
    micro, parts = (wanted, 1) if wanted <= fits else split_batch(wanted, knee, search.multiple)
    noise = search.noise()
    low, high = search.knee(noise), search.knee(-noise)
    return BatchReport(knee, points, search.stopped, wanted, micro, parts, noise, low, high, device)


def _source(build: Build | str | JobSource | Job, folder: str) -> JobSource:
    if isinstance(build, JobSource):
        return build
    if isinstance(build, Job):
        return pickled_source(build, os.path.join(folder, "job.pt"))
    return source_of(build)


class InChild:
    """Measures batch sizes in a child process. Starts a new child if one dies."""

    def __init__(
        self,
        source: JobSource,
        tricks: Sequence[Trick],
        seed: int,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._progress = (lambda text: None) if progress is None else progress
        self._tick = getattr(progress, "tick", lambda: None)
        self.memory_limit: int | None = None  # the default limit, for users who set none
        self.device = ""
        self._job_arguments: dict[str, Any] = {
            "source": source,
            "tricks": [trick.as_json() for trick in in_order(tricks)],
            "seed": seed,
        }
        self._process: TrialProcess | None = None
        self._worked = False

    def __call__(self, batch: int) -> SizeTiming:
        self._progress(f"{batch} samples")
        try:
            reply = self._ask("measure_size", batch=batch)
        except TrialFailed as error:
            if error.kind in ("died", "hang"):
                self.end()
            killed = (
                error.kind == "died" and self._worked
            )  # the kernel kills a process that runs out of CPU memory
            if error.kind == "out of memory" or killed:
                raise DoesNotFit(str(error)) from None
            known = fix_of(str(error))
            fix = "make the model and the loss work with any number of samples"
            fix = f"{known}; and {fix}" if known else fix
            raise ArgumentError(
                f"the step fails with a batch of {batch} samples: {error}\n  fix: {fix}"
            ) from error
        if "does_not_fit" in reply:
            raise DoesNotFit(reply["does_not_fit"])
        self._worked = True
        return SizeTiming(reply["step_s"], reply["peak"])

    def make(self) -> None:
        """Builds the job in the child. Called before the first size is tried."""
        self._progress("the job")
        try:
            found = self._ask("describe_step")
        except TrialFailed as error:
            function = self._job_arguments["source"].function
            raise build_error(function, str(error), error.details) from None
        self.memory_limit, self.device = found["bytes"], found["device"]

    def end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _ask(self, function: str, **arguments: Any) -> Any:
        if self._process is None:
            self._process = TrialProcess()
        name = f"{__name__}:{function}"
        return call_and_poll(
            self._process, self._tick, SLOWEST_SIZE_S, name, **self._job_arguments, **arguments
        )


# --- functions that run in the child -------------------------------------------------------------

_made: dict[str, Any] = {}  # the step and the example batch of this process


def make_step(source: JobSource, tricks: list[dict[str, Any]], seed: int) -> tuple[Step, Any]:
    if "step" not in _made:
        job = source.make(seed)
        if samples_of(job.batches[0]) == 0:
            raise ArgumentError("find_batch_size: the batch has no samples to repeat")
        step = Step(job.model, job.optimizer, job.loss_fn)
        for trick in in_order(trick_from_json(values) for values in tricks):
            obstacle = trick.obstacle(step)
            if obstacle:
                raise ArgumentError(f"find_batch_size: {trick.title}: {obstacle}")
            trick.apply(step)
        _made["step"], _made["batch"] = step, job.batches[0]
    return _made["step"], _made["batch"]


def describe_step(source: JobSource, tricks: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Returns the device name and the default memory limit in bytes.

    On a CPU, the limit is half of the free memory, because a machine that runs out of memory kills other
    programs. On a GPU, it is None, which means no limit.
    """
    step, _ = make_step(source, tricks, seed)
    device = describe_device(step.device)
    if step.device.type == "cuda":
        return {"bytes": None, "device": device}
    from ...data.settings.memory_budget import default_budget

    return {"bytes": resident_bytes() + default_budget(), "device": device}


def measure_size(
    source: JobSource, tricks: list[dict[str, Any]], seed: int, batch: int
) -> dict[str, Any]:
    """Measures one batch size once: a few warm-up steps, then about half a second of steps."""
    step, example = make_step(source, tricks, seed)
    release(step)
    try:
        inputs = resize_batch(example, batch)
        return time_step(lambda: step(inputs), step.device)
    except Exception as error:
        text = out_of_memory(error)
        if not text:
            raise
        return {"does_not_fit": text}
    finally:
        release(step)


def out_of_memory(error: BaseException | None) -> str:
    """Returns the first line of an out-of-memory error, or an empty string for other errors.

    Also searches the causes of the error, because a graph capture or a compilation may wrap it.
    """
    while error is not None:
        text = str(error)
        if isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(
            message in text for message in _OUT_OF_MEMORY
        ):
            return (text.strip().splitlines() or ["out of memory"])[0]
        error = error.__cause__ or error.__context__
    return ""


def time_step(run: Callable[[], Any], device: torch.device) -> dict[str, Any]:
    for _ in range(5):  # a graph is captured at the fourth step
        run()
    # Times groups of steps, because on a busy machine the first estimate of a step is unreliable.
    group = max(1, round(0.1 * TURN_S / max(1e-6, _seconds(run, 3, device))))
    steps, total = 0, 0.0
    while steps < 3 or total < TURN_S:
        total += group * _seconds(run, group, device)
        steps += group
    peak = torch.cuda.max_memory_reserved(device) if device.type == "cuda" else resident_bytes()
    return {"step_s": total / steps, "peak": int(peak)}


def _seconds(run: Callable[[], Any], steps: int, device: torch.device) -> float:
    """Returns the seconds per step."""
    _wait(device)
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    _wait(device)
    return (time.perf_counter() - begin) / steps


def release(step: Step) -> None:
    """Frees everything that the last size left behind: graph, gradients, cached blocks of the allocator."""
    step.reset()
    if step.compile_options is not None:
        torch.compiler.reset()  # otherwise, torch.compile gives up after eight shapes
    step.optimizer.zero_grad(set_to_none=True)
    gc.collect()
    if step.device.type == "cuda":
        torch.cuda.synchronize(step.device)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(step.device)
    else:
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the peak resident memory


def resident_bytes() -> int:
    """Returns the peak resident memory of this process since release()."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def resize_batch(batch: Any, samples: int) -> Any:
    """Returns a batch of `samples` samples. Repeats or cuts the example batch. Keeps the memory layout."""
    count = samples_of(batch)

    def resize(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0 or tensor.shape[0] != count:
            return tensor  # applies to all samples
        rows = torch.arange(samples, device=tensor.device) % count
        out = tensor.index_select(0, rows)
        if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
            return out.contiguous(memory_format=torch.channels_last)
        return out

    return map_tensors(resize, batch)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
