"""Shows the progress of a tuning run: one redrawn line on a terminal, one line per phase in a log."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from ..._cli.terminal import has_unicode
from ...progress import in_notebook
from .report_queries import duration_text

_LOG_EVERY_S = 30.0
_DRAW_EVERY_S = 0.5
_BAR = 22


class Progress:
    """Shows the progress of a tuning run on `stream`, or nothing if `stream` is None. Single-threaded.

    phase()    starts a phase; prints a line to a log
    note()     prints a permanent line
    tick()     updates the shown time; call it as often as you like while waiting
    end()      erases the progress line

    limit_s  approximate length of the whole run in seconds; None if unknown
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        redraw: bool = False,
        clock: Callable[[], float] = time.monotonic,
        limit_s: float | None = None,
    ) -> None:
        self._stream, self._redraw, self._clock = stream, redraw, clock
        self._begin = self._shown_at = clock()
        self._phase = self._drawn = ""
        self._limit_s = limit_s

    def __call__(self, text: str) -> None:
        self.phase(text)

    def phase(self, text: str) -> None:
        self._phase = text
        if self._redraw:
            self._draw()
        else:
            self._line()

    def note(self, text: str) -> None:
        if self._stream is None:
            return
        self._wipe()
        self._write(f"  {text}\n")
        if self._redraw:
            self._draw()

    def tick(self) -> None:
        passed = self._clock() - self._shown_at
        if self._redraw and passed >= _DRAW_EVERY_S:
            self._draw()
        elif not self._redraw and passed >= _LOG_EVERY_S:
            self._line()

    def end(self) -> None:
        self._wipe()

    def text(self, columns: int = 1000) -> str:
        """Returns a line such as: torch.compile   ####..................   1:12 of about 6:00"""
        passed = self._clock() - self._begin
        end = duration_text(passed)
        if self._limit_s:
            end += f" of about {duration_text(self._limit_s)}"
            bar = self._bar(passed / self._limit_s)
            if self._redraw and len("   ".join([self._phase, bar, end])) <= columns:
                end = f"{bar}   {end}"
        room = max(0, columns - len(end) - 3)
        head = self._phase if len(self._phase) <= room else self._phase[: max(0, room - 3)] + "..."
        return "   ".join([head, end])[:columns]

    def _bar(self, share: float) -> str:
        full = int(_BAR * min(1.0, share))
        blocks = self._stream is not None and has_unicode(self._stream)
        return ("█" * full).ljust(_BAR, "░") if blocks else ("#" * full).ljust(_BAR, ".")

    def _draw(self) -> None:
        if self._stream is None:
            return
        self._shown_at = self._clock()
        before = len(self._drawn)
        columns = max(30, shutil.get_terminal_size().columns)
        self._drawn = "  " + self.text(columns - 3)
        self._write("\r" + self._drawn.ljust(before))  # spaces erase the rest of a longer line

    def _line(self) -> None:
        if self._stream is None:
            return
        self._shown_at = self._clock()
        self._write(f"  {self.text()}\n")

    def _wipe(self) -> None:
        if self._drawn:
            self._write("\r" + " " * len(self._drawn) + "\r")
            self._drawn = ""

    def _write(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(text)
        self._stream.flush()


def stderr_progress(quiet: bool = False, limit_s: float | None = None) -> Progress:
    """Returns a Progress for stderr. It redraws its line on a terminal and in a notebook."""
    if quiet:
        return Progress()
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Progress(sys.stderr, redraw=terminal or in_notebook(), limit_s=limit_s)
