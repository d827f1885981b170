"""What the GPU did in the profiled steps, by torch's profiler: kernels, copies, and where the host waited for it.

Only activities of the GPU and calls of its runtime are recorded, no operators: those would slow the host down, and a
host that is slow to launch kernels is one of the things to be found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

# Calls of CUDA's runtime and driver in which the host waits until the GPU is done.
_WAITS = (
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cuStreamSynchronize",
)
# With memory that is not pinned, such a call first waits until the GPU has done what was queued before.
_COPY_CALLS = ("cudaMemcpy", "cuMemcpy")
_LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch")
Event = tuple[str, bool, float, float]  # name, whether on the GPU, begin and end in seconds


class GpuProfile:
    """start() and stop() are called by the loop's thread. Never raises: a script may have a profiler of its own."""

    def __init__(self) -> None:
        self._profiler: Any = None
        self.summary: dict[str, Any] | None = None
        self.failed = ""

    def start(self) -> None:
        torch = sys.modules["torch"]
        if not torch.cuda.is_initialized() or not torch.cuda.is_available():
            return
        try:
            kinds = torch.profiler.ProfilerActivity
            self._profiler = torch.profiler.profile(activities=[kinds.CUDA])
            self._profiler.start()
        except Exception as error:
            self._profiler, self.failed = None, f"{type(error).__name__}: {error}"

    def stop(self, steps: int, wall_s: float) -> None:
        """`wall_s`: of these steps, without what the doctor did."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        try:
            profiler.stop()
            if steps:
                self.summary = summed(events_of(profiler), steps, wall_s)
        except Exception as error:
            self.failed = f"{type(error).__name__}: {error}"


def events_of(profiler: Any) -> list[Event]:
    kind = sys.modules["torch"].autograd.DeviceType.CUDA
    return [
        (one.name, one.device_type == kind, one.time_range.start / 1e6, one.time_range.end / 1e6)
        for one in profiler.events()
    ]


def summed(events: Iterable[Event], steps: int, wall_s: float) -> dict[str, Any]:
    """Seconds and counts of one step."""
    on_gpu, copies = [], {"pageable": 0.0, "pinned": 0.0}
    kernels = launches = waits = 0
    wait_s = kernel_s = copy_s = copy_call_s = 0.0
    for name, is_gpu, begin, end in events:
        if is_gpu:
            on_gpu.append((begin, end))
            copy_s += end - begin if name.startswith("Memcpy") else 0.0
            if name.startswith("Memcpy HtoD"):
                copies["pageable" if "Pageable" in name else "pinned"] += end - begin
            elif not name.startswith(("Memcpy", "Memset")):
                kernels += 1
                kernel_s += end - begin
        elif name.startswith(_WAITS):
            waits += 1
            wait_s += end - begin
        elif name.startswith(_COPY_CALLS):
            copy_call_s += end - begin
        elif name.startswith(_LAUNCHES):
            launches += 1
    wait_s += max(0.0, copy_call_s - copy_s)
    busy = covered(on_gpu)
    return {
        "steps": steps,
        "wall_s": wall_s / steps,
        "busy_s": min(busy, wall_s) / steps,
        "kernels": kernels / steps,
        "kernel_s": kernel_s / kernels if kernels else 0.0,
        "launches": launches / steps,
        "waits": waits / steps,
        "wait_s": wait_s / steps,
        "pageable_copy_s": copies["pageable"] / steps,
        "pinned_copy_s": copies["pinned"] / steps,
    }


def covered(intervals: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of them is active: streams run at the same time."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total
