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
    workers: str = ""  # of a data set that keeps its code: "processes", "threads"; "": none
    about_workers: str = ""
    translated: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # from torch, by design
    notes: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)  # why torch's code stays
    proof: str = ""

    def __str__(self) -> str:
        head = "torch makes the batches as before"
        if self.native:
            head = "the engine makes the batches"
        elif self.workers == "threads":
            head = "the data set makes the batches, in threads of this process"
        lines = [f"tundish.accelerate: {head}"]
        lines += [f"  translated  {text}" for text in self.translated]
        lines += [f"  differs     {text}" for text in self.differs]
        for reason in self.reasons:
            place = f" ({reason.where})" if reason.where else ""
            lines += [f"  kept        {reason.what}{place}", f"    instead   {reason.instead}"]
        lines += [f"  workers     {self.about_workers}"] if self.about_workers else []
        lines += [f"  note        {text}" for text in self.notes]
        lines += [f"  proof       {self.proof}"] if self.proof else []
        return "\n".join(lines)

    def tell(self) -> None:
        """Once: a warning where nothing was gained, since somebody asked for it."""
        gained = self.native or self.workers == "threads"
        log.log(logging.INFO if gained else logging.WARNING, "%s", self)

    def add_note(self, text: str) -> None:
        self.notes.append(text)
        log.info("tundish.accelerate: %s", text)

    def add_drawn(self, names: list[str]) -> None:
        """Threads drew random numbers that they share, in the first batches."""
        text = (
            f"random numbers of {' and '.join(names)} were drawn while the first batch was made: threads share them, so that they "
            "differ from torch's and from run to run; workers=\"processes\" has torch's"
        )
        self.differs.append(text)
        log.warning("tundish.accelerate: %s", text)
