"""Records the memory blocks of steps on a GPU, from the history of torch's allocator."""

from __future__ import annotations

import sys
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from ...tuning.memory.live_memory import Block
from ...tuning.source_lines import Line
from .allocation_sites import AllocationSite, allocation_site
from .block_history import Mark, MemoryRecording, is_alive

ROUNDED_TO = 512  # bytes; a block that the allocator does not split is up to 1 MiB larger


@dataclass(frozen=True)
class KindSnapshot:
    """The kind of each storage, by address, at one moment. Its time is in microseconds of Unix time."""

    time_us: float
    kinds: dict[int, str]


class CudaTracker:
    """Tracks GPU allocations. Raises an error if the script records the allocator's history itself."""

    def __init__(self, device: torch.device) -> None:
        self._device = device.index if device.index is not None else torch.cuda.current_device()
        self._before: dict[int, int] = {}
        self._marks: list[tuple[float, str, AllocationSite]] = []
        self._names: list[KindSnapshot] = []
        self._bounds: list[float] = []
        self._torch_peak = 0
        self._snapshot: dict[str, Any] = {}
        self._recording = False

    def begin(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        if getattr(torch._C, "_cuda_isHistoryEnabled", bool)():
            raise RuntimeError("the script records the allocator's history itself")
        torch.cuda.synchronize(self._device)
        self._before = allocated_blocks(torch.cuda.memory._snapshot(), self._device)
        record = torch.cuda.memory._record_memory_history
        options = {"context": "alloc", "stacks": "python", "max_entries": sys.maxsize}
        record(enabled="all", clear_history=True, **options)
        self._recording = True
        self.name_owned(owned)
        self._bounds.append(_now_us())
        torch.cuda.reset_peak_memory_stats(self._device)

    def mark(self, part: str, place: AllocationSite) -> None:
        self._marks.append((_now_us(), part, place))

    def name_owned(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        kinds: dict[int, str] = {}
        for kind, tensors in owned:
            kinds |= dict.fromkeys(self._addresses(tensors), kind)
        self._names.append(KindSnapshot(_now_us(), kinds))

    def step_ended(self, batch: list[Any]) -> None:
        self._names.append(KindSnapshot(_now_us(), dict.fromkeys(self._addresses(batch), "batch")))
        self._bounds.append(_now_us())
        self._torch_peak = int(torch.cuda.max_memory_allocated(self._device))
        torch.cuda.reset_peak_memory_stats(self._device)

    def end(self) -> None:
        if self._recording:
            self._recording = False
            self._snapshot = torch.cuda.memory._snapshot()
            torch.cuda.memory._record_memory_history(enabled=None)

    def paused(self) -> Any:
        return nullcontext()

    def recorded(self) -> MemoryRecording:
        traces = self._snapshot.get("device_traces") or []
        trace = traces[self._device] if self._device < len(traces) else []
        after = allocated_blocks(self._snapshot, self._device)
        times = [float(event["time_us"]) for event in trace]

        def position(time_us: float) -> int:
            return bisect_left(times, time_us) + 1  # position 0 is for blocks that existed before

        blocks = trace_blocks(trace, self._before, after)
        name_blocks(
            blocks, [(position(snapshot.time_us), snapshot.kinds) for snapshot in self._names]
        )
        marks = [Mark(position(at), part, place) for at, part, place in self._marks]
        bounds = [position(bound) for bound in self._bounds]
        flat = [block for same in blocks.values() for block in same]
        return MemoryRecording(f"cuda:{self._device}", flat, marks, bounds, self._torch_peak)

    def _addresses(self, tensors: Iterable[Any]) -> list[int]:
        found = []
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
                try:
                    found.append(tensor.untyped_storage().data_ptr())
                except RuntimeError:  # a sparse tensor has no storage
                    continue
        return [address for address in found if address]


def allocated_blocks(snapshot: dict[str, Any], device: int) -> dict[int, int]:
    """Returns the sizes of allocated blocks by address."""
    found = {}
    for segment in snapshot.get("segments", []):
        if segment.get("device", device) != device:
            continue
        address = segment.get("address", 0)
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                found[block.get("address", address)] = block["size"]
            address += block["size"]
    return found


def trace_blocks(
    trace: list[dict[str, Any]], before: dict[int, int], after: dict[int, int]
) -> dict[int, list[Block]]:
    """Returns the blocks at each address, oldest first. Event n of the trace has position n + 1."""
    found: defaultdict[int, list[Block]] = defaultdict(list)
    for address, size in before.items():
        found[address].append(Block(size, "other", Line(), 0, 0))
    for position, event in enumerate(trace, 1):
        address = event.get("addr", 0)
        if event["action"] == "alloc":
            size = -(-int(event["size"]) // ROUNDED_TO) * ROUNDED_TO
            place = allocation_site(
                (frame["filename"], frame["line"]) for frame in event.get("frames", ())
            )
            found[address].append(Block(size, "temporary", place, position, position))
        elif event["action"] == "free_requested" and found.get(address):
            last = found[address][-1]
            if last.freed is None:
                last.freed = position - 1
    for address, same in found.items():
        if same[-1].freed is None and address in after:
            same[-1].bytes = after[address]  # includes space that the allocator did not split off
    return found


def name_blocks(blocks: dict[int, list[Block]], names: list[tuple[int, dict[int, str]]]) -> None:
    for mark, kinds in names:
        for address, kind in kinds.items():
            for block in blocks.get(address, ()):
                if is_alive(block, mark):
                    block.kind = kind


def _now_us() -> float:
    return time.time_ns() / 1e3
