"""`decode="auto"`: which of CPU and GPU is to decode, measured on the training that is going on.

The CPU and the GPU decode blocks of batches by turns; the pixels are the same. What counts is the
GPU's own time from batch to batch, which has the step, the wait for data, and what decoding takes
away from the step. Batches made ahead would hide a path that is too slow, so a block is measured
when they are used up or when their number holds, and what they still change is taken into account.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SETTLE = 8  # batches of a block before it may be measured; of the first one twice as many
LONGEST = 64  # batches after which it is measured in any case
MEASURED = 20  # from one to the next
BLOCKS = 2  # of each path

log = logging.getLogger("tundish")


@dataclass(frozen=True)
class Block:
    marks: list[Any]  # events of the loop's stream, one per batch
    gained: int  # batches that were ready at its end and not at its begin

    def ms(self) -> float:
        """Per batch that was made, without the longest wait: a pause of the program's own."""
        spans = [
            one.elapsed_time(two) for one, two in zip(self.marks, self.marks[1:], strict=False)
        ]
        made = max(len(spans) + self.gained, 1)
        return float((sum(spans) - max(spans)) / (len(spans) - 1) * len(spans) / made)


class Choice:
    """Called for every batch until the choice is made; then `on_gpu` says whether the GPU decodes."""

    def __init__(
        self, decode_on_gpu: Callable[[bool], None], ready: Callable[[], int], prefetch: int
    ) -> None:
        """`ready`: how many batches wait for the loop, of `prefetch` at most."""
        self._decode_on_gpu, self._ready, self._full = decode_on_gpu, ready, prefetch - 1
        self.on_gpu: bool | None = None  # None: not chosen yet
        self._trying = False  # the path of the block at work: whether the GPU decodes
        self._seen = -SETTLE  # batches of this path in this block
        self._marks: list[Any] = []
        self._ready_before = 0
        self._blocks: dict[bool, list[Block]] = {False: [], True: []}
        decode_on_gpu(self._trying)

    def handed_over(self, on_gpu: bool, stream: Any) -> None:
        """A batch that the GPU decoded, or not; `stream` is the loop's."""
        if self.on_gpu is not None:
            return
        if len(self._blocks[True]) == BLOCKS:
            self._decide()
            return
        if on_gpu != self._trying:  # of the block before
            return
        self._seen += 1
        ready = self._ready()
        if self._marks:
            self._marks.append(self._mark(stream))
        elif self._seen > LONGEST or (self._seen > SETTLE and (ready == 0 or ready >= self._full)):
            self._marks, self._ready_before = [self._mark(stream)], ready
        if len(self._marks) > MEASURED:
            gained = ready - self._ready_before
            self._blocks[on_gpu].append(Block(self._marks, gained if ready < self._full else 0))
            self._seen, self._marks = 0, []
            self._trying = not self._trying
            self._decode_on_gpu(self._trying)

    def _mark(self, stream: Any) -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event

    def _decide(self) -> None:
        """As soon as the GPU has come past the last mark; nobody waits for it."""
        if not all(block.marks[-1].query() for blocks in self._blocks.values() for block in blocks):
            return
        # The better block of each: a pause may fall into the other one.
        ms = {path: min(block.ms() for block in blocks) for path, blocks in self._blocks.items()}
        self.on_gpu = ms[True] < ms[False]
        self._decode_on_gpu(self.on_gpu)
        self._blocks = {False: [], True: []}
        log.info(
            'decode="auto": a batch takes %.2f ms when the GPU decodes, %.2f ms when the CPU does; '
            "from now on the %s does",
            ms[True],
            ms[False],
            "GPU" if self.on_gpu else "CPU",
        )
