"""Summarizes GPU activity in the profiled steps, with torch's profiler: kernels, copies, host waits.

Records only GPU activities and CUDA runtime calls. Recording operators would slow the host down, and
a host that launches kernels slowly is one of the causes that the doctor has to detect.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..facts import GpuFacts

# Calls of the CUDA runtime and driver in which the host waits for the GPU.
_WAITS = (
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cuStreamSynchronize",
)
# If the memory is not pinned, these calls wait for all queued GPU work first.
_COPY_CALLS = ("cudaMemcpy", "cuMemcpy")
_LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch")
Event = tuple[str, bool, float, float]  # (name, whether on the GPU, begin in s, end in s)


class GpuProfile:
    """Profiles the GPU. Its methods run in the loop's thread and never raise.

    Profiling fails if the script uses a profiler itself.
    """

    def __init__(self) -> None:
        self._profiler: Any = None
        self.summary: GpuFacts | None = None
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
        """Ends and summarizes the profile. `wall_s` is the wall time of the steps, without the doctor's work."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        try:
            profiler.stop()
            if steps:
                self.summary = summarize(profiler_events(profiler), steps, wall_s)
        except Exception as error:
            self.failed = f"{type(error).__name__}: {error}"


def profiler_events(profiler: Any) -> list[Event]:
    kind = sys.modules["torch"].autograd.DeviceType.CUDA
    return [
        (
            event.name,
            event.device_type == kind,
            event.time_range.start / 1e6,
            event.time_range.end / 1e6,
        )
        for event in profiler.events()
    ]


def summarize(events: Iterable[Event], steps: int, wall_s: float) -> GpuFacts:
    """Returns the seconds and counts of GPU activity per step."""
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
    return GpuFacts(
        steps=steps,
        wall_s=wall_s / steps,
        busy_s=min(busy, wall_s) / steps,
        kernels=kernels / steps,
        kernel_s=kernel_s / kernels if kernels else 0.0,
        launches=launches / steps,
        waits=waits / steps,
        wait_s=wait_s / steps,
        pageable_copy_s=copies["pageable"] / steps,
        pinned_copy_s=copies["pinned"] / steps,
    )


def covered(intervals: list[tuple[float, float]]) -> float:
    """Returns the length of the union of the intervals, which overlap if several streams run at once."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total
