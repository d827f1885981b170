"""`decode="auto"`: which of CPU and GPU is to decode, measured on the training that is going on.

Blocks of batches are decoded here and there by turns; the pixels are the same. What counts is the
GPU's own time from one batch to the next: it has the step, the wait for data, and what decoding
takes away from the step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from statistics import median
from typing import Any

FIRST = 8  # batches before the first block: compilers and caches warm up
BLOCK = 20  # batches of a block
SETTLE = 8  # of these, the first ones: batches of the block before are still on their way
BLOCKS = 2  # of each road

log = logging.getLogger("tundish")


class Choice:
    """Told of every batch until it is made; then `on_gpu` is the road."""

    def __init__(self, decode_there: Callable[[bool], None]) -> None:
        self._decode_there = decode_there
        self.on_gpu: bool | None = None  # None: not chosen yet
        self._trying = False  # the road of the block at work
        self._blocks = 0  # finished
        self._in_block = -FIRST  # batches of this road in this block, so far
        self._last: Any = None  # event of the batch before, when both belong to a block
        self._spans: dict[bool, list[tuple[Any, Any]]] = {False: [], True: []}
        decode_there(self._trying)

    def handed_over(self, on_gpu: bool, stream: Any) -> None:
        """A batch of that road; `stream` is the loop's."""
        if self.on_gpu is not None:
            return
        if self._blocks == 2 * BLOCKS:
            self._decide()
            return
        if on_gpu != self._trying:  # of the block before
            self._last = None
            return
        self._in_block += 1
        if self._in_block > SETTLE:
            event = self._mark(stream)
            if self._last is not None:
                self._spans[on_gpu].append((self._last, event))
            self._last = event
        if self._in_block == BLOCK:
            self._blocks += 1
            self._in_block = 0
            self._last = None
            self._trying = not self._trying
            self._decode_there(self._trying)

    def _mark(self, stream: Any) -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event

    def _decide(self) -> None:
        """As soon as the GPU has come past the last mark; nobody waits for it."""
        spans = [span for road in self._spans.values() for span in road]
        if not all(end.query() for _, end in spans):
            return
        ms = {
            road: median(begin.elapsed_time(end) for begin, end in spans)
            for road, spans in self._spans.items()
        }
        chosen = ms[True] < ms[False]
        self._decode_there(chosen)
        self.on_gpu = chosen
        self._spans = {False: [], True: []}
        log.info(
            'decode="auto": a step takes %.2f ms when the GPU decodes, %.2f ms when the CPU does; '
            "from now on the %s does",
            ms[True],
            ms[False],
            "GPU" if chosen else "CPU",
        )
