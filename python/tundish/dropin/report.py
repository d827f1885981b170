"""What became of a DataLoader, for people to read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from .reasons import Reason

log = logging.getLogger("tundish")


@dataclass
class Report:
    """`print(loader.report)`. It grows while the loader runs: a pack that was made, a device."""

    native: bool  # the engine makes the batches; False: torch's code does
    translated: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # from torch, by design
    notes: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)  # why torch's code stays
    proof: str = ""

    def __str__(self) -> str:
        head = (
            "the engine makes the batches" if self.native else "torch makes the batches as before"
        )
        lines = [f"tundish.accelerate: {head}"]
        lines += [f"  translated  {text}" for text in self.translated]
        lines += [f"  differs     {text}" for text in self.differs]
        for reason in self.reasons:
            place = f" ({reason.where})" if reason.where else ""
            lines += [f"  kept        {reason.what}{place}", f"    instead   {reason.instead}"]
        lines += [f"  note        {text}" for text in self.notes]
        lines += [f"  proof       {self.proof}"] if self.proof else []
        return "\n".join(lines)

    def tell(self) -> None:
        """Once: a warning where nothing was gained, since somebody asked for it."""
        log.log(logging.INFO if self.native else logging.WARNING, "%s", self)

    def add_note(self, text: str) -> None:
        self.notes.append(text)
        log.info("tundish.accelerate: %s", text)
