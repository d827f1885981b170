"""The report of accelerate(): what it did with a DataLoader."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from .reasons import Reason

log = logging.getLogger("tundish")


@dataclass
class AccelerateReport:
    """A report for users: `print(loader.report)`. Notes are added while the loader runs."""

    native: bool  # True if the engine makes the batches; False if torch does
    workers: str = ""  # description of torch's worker processes, if torch makes the batches
    translated: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # intended differences from torch
    notes: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)  # why torch's code was kept
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

    def log_report(self) -> None:
        """Logs the report, as a warning if torch still makes the batches."""
        log.log(logging.INFO if self.native else logging.WARNING, "%s", self)

    def add_note(self, text: str) -> None:
        self.notes.append(text)
        log.info("tundish.accelerate: %s", text)


def worker_text(count: int) -> str:
    """Describes `num_workers` worker processes of torch's DataLoader."""
    if count == 0:
        return "none: with num_workers=0 the loop makes the batches"
    return f"{count} process{'es' if count > 1 else ''} of torch"
