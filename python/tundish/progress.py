"""Shows the progress of `tundish.pack` and `tundish.convert` where there is no terminal: in notebooks and logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

Amount = dict[
    str, int
]  # samples, samples_total, bytes, bytes_total, refused; a total of 0 means unknown
Show = Callable[[Amount], object]

_LOG_EVERY_S = 10.0


def in_notebook() -> bool:
    """Returns whether stderr belongs to a Jupyter kernel, which can redraw a line."""
    return type(sys.stderr).__module__.startswith("ipykernel.")


class ProgressLine:
    """Shows progress as one redrawn line in a notebook, or as a new line every ten seconds in a log."""

    def __init__(self, stream: TextIO, redraw: bool, label: str = "packing") -> None:
        self._stream, self._redraw, self._label = stream, redraw, label
        self._begin = self._shown_at = time.monotonic()
        self._last = ""

    def __call__(self, amount: Amount) -> None:
        now = time.monotonic()
        before, self._last = len(self._last), progress_text(amount, now - self._begin, self._label)
        if self._redraw:
            self._write("\r" + self._last.ljust(before))  # spaces overwrite a longer line
        elif now - self._shown_at >= _LOG_EVERY_S:
            self._shown_at = now
            self._write(self._last + "\n")
            self._last = ""

    def end(self) -> None:
        if self._last:
            self._write("\n" if self._redraw else self._last + "\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def progress_text(amount: Amount, seconds: float, label: str = "packing") -> str:
    """Returns a line such as: packing   25 %   50 of 100 images   5.0 images/s   30 s left"""
    done, total = amount["samples"], amount["samples_total"]
    # Images have different sizes, so bytes predict the remaining time better than image counts.
    by_bytes = amount["bytes_total"] > 0
    part = amount["bytes"] if by_bytes else done
    whole = amount["bytes_total"] if by_bytes else total
    parts = [label]
    if whole:
        parts += [f"{part / whole:.0%}".replace("%", " %")]
    parts += [f"{done:,} of {total:,} images" if total else f"{done:,} images"]
    if seconds > 0:
        parts += [f"{done / seconds:,.1f} images/s"]
    if seconds > 1 and 0 < part < whole:
        parts += [f"{seconds * (whole - part) / part:,.0f} s left"]
    if amount["refused"]:
        parts += [f"{amount['refused']:,} refused"]
    return "   ".join(parts)
