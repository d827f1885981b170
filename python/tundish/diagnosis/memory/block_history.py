"""What was alive in some steps: the same for a CPU and a GPU.

Positions are numbers of operations (CPU) or of events of the allocator (GPU). A block is alive from `made` to `freed`, both
included; a mark at position p is between p - 1 and p.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from ...tuning.memory.live_memory import Block
from .allocation_sites import Place

OWNED = ("parameters", "buffers", "gradients", "optimizer")
UNKNOWN = Place()
KINDS = (*OWNED, "batch", "activations", "temporary", "other", "rounding")


@dataclass(frozen=True)
class Mark:
    position: int
    part: str  # of the step, that begins here
    place: Place = UNKNOWN  # of the loop's thread


@dataclass
class Recorded:
    """`bounds`: the positions between which the steps are, one more than there are steps."""

    device: str
    blocks: list[Block]
    marks: list[Mark]
    bounds: list[int]
    torch_peak: int | None = None  # of the last step, by torch's own count
    notes: list[str] = field(default_factory=list)

    def mark_at(self, position: int) -> Mark:
        """The part in which an operation is."""
        index = bisect_right([mark.position for mark in self.marks], position) - 1
        return self.marks[index] if index >= 0 else Mark(0, "other")


def is_alive(block: Block, mark: int) -> bool:
    return block.made < mark and (block.freed is None or block.freed >= mark)


def settle_kinds(seen: Recorded) -> None:
    """Names what nobody owns. Activations: made by the forward pass, and alive when a backward pass begins."""
    begin = seen.bounds[-2]
    positions = [mark.position for mark in seen.marks]
    backwards = [mark.position for mark in seen.marks if mark.part == "backward"]
    backward = next((mark.place for mark in seen.marks if mark.part == "backward"), UNKNOWN)
    for block in seen.blocks:
        if block.kind == "gradients" and block.made < seen.bounds[0]:
            # zero_grad(set_to_none=False) keeps them: an earlier backward() made them.
            block.line = backward
        index = bisect_right(positions, block.made) - 1
        mark = seen.marks[index] if index >= 0 else Mark(0, "other")
        if not block.line.number and mark.place.number:
            block.line = mark.place  # autograd's own thread has no line: that of backward()
        if block.kind in OWNED or block.kind in ("batch", "other"):
            continue
        following = bisect_right(backwards, block.made)
        if block.made < begin:
            block.kind = "other"  # an earlier step left it behind
        elif mark.part in ("data", "copy"):
            block.kind = "batch"
        elif mark.part in ("backward", "optimizer", "zero_grad"):
            block.kind = "temporary"
        elif following < len(backwards) and is_alive(block, backwards[following]):
            block.kind = "activations"
        else:
            block.kind = "temporary"
