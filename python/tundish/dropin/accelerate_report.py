"""What became of a DataLoader, for people to read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from .reasons import Reason

log = logging.getLogger("tundish")


@dataclass
class Report:
    """`print(loader.report)`. It grows while the loader runs: a pack that was made, a device."""

    native: bool  # the engine makes the batches; False: the data set's own code does
    workers: str = ""  # the workers of a data set that keeps its code
    translated: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # from torch, by design
    notes: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)  # why torch's code stays
    proof: str = ""

    def __str__(self) -> str:
        head = "torch makes the batches as before"
        if self.native:
            head = "the engine makes the batches"
        lines = [f"tundish.accelerate: {head}"]
        lines += [f"  translated  {text}" for text in self.translated]
        lines += [f"  differs     {text}" for text in self.differs]
        for reason in self.reasons:
            place = f" ({reason.where})" if reason.where else ""
            lines += [f"  kept        {reason.what}{place}", f"    instead   {reason.instead}"]
        lines += [f"  workers     {self.workers}"] if self.workers else []
        lines += [f"  note        {text}" for text in self.notes]
        lines += [f"  proof       {self.proof}"] if self.proof else []
        return "\n".join(lines)

    def tell(self) -> None:
        """Once: a warning where nothing was gained, since somebody asked for it."""
        log.log(logging.INFO if self.native else logging.WARNING, "%s", self)

    def add_note(self, text: str) -> None:
        self.notes.append(text)
        log.info("tundish.accelerate: %s", text)


def worker_text(count: int) -> str:
    """Describes `num_workers` worker processes of torch's DataLoader."""
    if count == 0:
        return "none: with num_workers=0 the loop itself makes the batches"
    return f"{count} process{'es' if count > 1 else ''} of torch"
