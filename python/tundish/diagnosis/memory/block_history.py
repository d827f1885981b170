"""The memory blocks of recorded steps, on a CPU or a GPU.

A position is the number of an operation (CPU) or of an allocator event (GPU). A block is alive from
position `made` to position `freed`, inclusive. A mark at position p lies between p - 1 and p.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from ...tuning.memory.live_memory import Block
from .allocation_sites import AllocationSite

PERSISTENT_KINDS = ("parameters", "buffers", "gradients", "optimizer")
UNKNOWN = AllocationSite()
KINDS = (*PERSISTENT_KINDS, "batch", "activations", "temporary", "other", "rounding")


@dataclass(frozen=True)
class Mark:
    position: int
    part: str  # part of the step that begins here
    place: AllocationSite = UNKNOWN  # line that the loop's thread is executing


@dataclass
class MemoryRecording:
    """The blocks and marks of recorded steps.

    `bounds` contains the position at which each step begins, and then the end of the last step.
    """

    device: str
    blocks: list[Block]
    marks: list[Mark]
    bounds: list[int]
    torch_peak: int | None = None  # peak bytes of the last step, as counted by torch
    notes: list[str] = field(default_factory=list)

    def mark_at(self, position: int) -> Mark:
        """Returns the mark at which the part of the step containing this position began."""
        index = bisect_right([mark.position for mark in self.marks], position) - 1
        return self.marks[index] if index >= 0 else Mark(0, "other")


def is_alive(block: Block, mark: int) -> bool:
    return block.made < mark and (block.freed is None or block.freed >= mark)


def assign_kinds(seen: MemoryRecording) -> None:
    """Assigns kinds to temporary blocks and activations.

    A block is an activation if the forward pass made it and it is alive when a backward pass
    begins.
    """
    begin = seen.bounds[-2]
    positions = [mark.position for mark in seen.marks]
    backwards = [mark.position for mark in seen.marks if mark.part == "backward"]
    backward = next((mark.place for mark in seen.marks if mark.part == "backward"), UNKNOWN)
    for block in seen.blocks:
        if block.kind == "gradients" and block.made < seen.bounds[0]:
            # created by an earlier backward() and kept by zero_grad(set_to_none=False)
            block.line = backward
        index = bisect_right(positions, block.made) - 1
        mark = seen.marks[index] if index >= 0 else Mark(0, "other")
        if not block.line.number and mark.place.number:
            block.line = (
                mark.place
            )  # autograd threads have no Python line, so use the line of backward()
        if block.kind in PERSISTENT_KINDS or block.kind in ("batch", "other"):
            continue
        following = bisect_right(backwards, block.made)
        if block.made < begin:
            block.kind = "other"  # left over from an earlier step
        elif mark.part in ("data", "copy"):
            block.kind = "batch"
        elif mark.part in ("backward", "optimizer", "zero_grad"):
            block.kind = "temporary"
        elif following < len(backwards) and is_alive(block, backwards[following]):
            block.kind = "activations"
        else:
            block.kind = "temporary"
