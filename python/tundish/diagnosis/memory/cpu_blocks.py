"""Blocks of a CPU's steps, by the tracker of `tundish tune`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from ...tuning.memory.live_memory import LiveMemory
from ...tuning.memory.source_lines import Line
from .allocation_sites import Place, current_place
from .block_history import Mark, Recorded


class _ScriptMemory(LiveMemory):
    def _line(self) -> Line:
        return current_place()


class CpuTracker:
    """begin() and end() are called by the loop's thread, between two steps."""

    def __init__(self, device: torch.device) -> None:
        self._live = _ScriptMemory(device, lines=True)
        self._marks: list[Mark] = []
        self._bounds: list[int] = []

    def begin(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        self.name_owned(owned)
        self._live.__enter__()
        self._bounds.append(self._position())

    def mark(self, part: str, place: Place) -> None:
        self._marks.append(Mark(self._position(), part, place))

    def name_owned(self, owned: Iterable[tuple[str, list[Any]]]) -> None:
        for kind, tensors in owned:
            self._live.name(tensors, kind)

    def step_ended(self, batch: list[Any]) -> None:
        """`batch`: its tensors."""
        self._live.name(batch, "batch")
        self._bounds.append(self._position())

    def end(self) -> None:
        if not self._bounds:  # begin() failed
            return
        if _get_current_dispatch_mode() is not self._live:
            raise RuntimeError("the script left a dispatch mode of its own active")
        self._live.__exit__(None, None, None)

    def paused(self) -> Any:
        return _disable_current_modes()

    def recorded(self) -> Recorded:
        return Recorded(
            str(self._live.device), list(self._live.made or ()), self._marks, self._bounds
        )

    def _position(self) -> int:
        return self._live.operations + 1
