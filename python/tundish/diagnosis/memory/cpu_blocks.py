"""Records the memory blocks of steps on a CPU, with the memory tracker of `tundish tune`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from ...tuning.memory.live_memory import LiveMemory
from ...tuning.source_lines import Line
from ..probe.layers.eager_code import run_eagerly
from .allocation_sites import AllocationSite, current_site
from .block_history import Mark, MemoryRecording


class _ScriptMemory(LiveMemory):
    def _line(self) -> Line:
        return current_site()


class CpuTracker:
    """Tracks CPU allocations. begin() and end() run in the loop's thread, between two steps."""

    def __init__(self, device: torch.device) -> None:
        self._live = _ScriptMemory(device, lines=True)
        self._eager: AbstractContextManager[Any] = nullcontext()
        self._marks: list[Mark] = []
        self._bounds: list[int] = []

    def begin(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        self.name_owned(owned)
        self._eager = run_eagerly()
        self._eager.__enter__()
        self._live.__enter__()
        self._bounds.append(self._position())

    def mark(self, part: str, place: AllocationSite) -> None:
        self._marks.append(Mark(self._position(), part, place))

    def name_owned(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        for kind, tensors in owned:
            self._live.name(tensors, kind)

    def step_ended(self, batch: list[Any]) -> None:
        """Records the end of a step. `batch` contains the tensors of the batch."""
        self._live.name(batch, "batch")
        self._bounds.append(self._position())

    def end(self) -> None:
        self._eager.__exit__(None, None, None)
        self._eager = nullcontext()
        if not self._bounds:  # begin() failed
            return
        if _get_current_dispatch_mode() is not self._live:
            raise RuntimeError("the script left its own dispatch mode active")
        self._live.__exit__(None, None, None)

    def paused(self) -> Any:
        return _disable_current_modes()

    def recorded(self) -> MemoryRecording:
        return MemoryRecording(
            str(self._live.device), list(self._live.made or ()), self._marks, self._bounds
        )

    def _position(self) -> int:
        return self._live.operations + 1
