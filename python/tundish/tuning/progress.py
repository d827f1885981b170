"""The progress of a tuning run: one line that is drawn again on a terminal; lines in a log."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from ..progress import in_notebook
from .reading import duration_text

_LOG_EVERY_S = 10.0
_DRAW_EVERY_S = 0.1
_BAR = 22


class Progress:
    """What the search reports while it works. Without a stream it shows nothing. One thread.

    phase()    what is done now; a log gets a line for it
    advance()  how much of the whole run is done
    note()     a line that stays
    tick()     time passed: call it while waiting, as often as you like
    end()      wipes the moving line
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        redraw: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._redraw, self._clock = stream, redraw, clock
        self._begin = self._shown_at = clock()
        self._phase = self._drawn = ""
        self._left_s: float | None = None  # as the caller or the share done predicts it ...
        self._predicted_at = 0.0  # ... at this time
        self.done = self.total = 0

    def __call__(self, text: str) -> None:
        self.phase(text)

    def phase(self, text: str) -> None:
        self._phase = text
        if self._redraw:
            self._draw()
        else:
            self._line()

    def advance(self, done: int, total: int, left_s: float | None = None) -> None:
        """`done` of `total` parts of the whole run; `left_s` if the caller knows better than the share."""
        now = self._clock()
        self.done, self.total = done, total
        if left_s is None and 0 < done <= total and now - self._begin > 1:
            left_s = (now - self._begin) * (total - done) / done
        self._left_s, self._predicted_at = left_s, now
        self.tick()

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
        """As in: compile: bf16 autocast   ########..............  9 of 24   1:02   1:41 left"""
        passed = self._clock() - self._begin
        tail = [duration_text(passed)]
        if self._left_s is not None:
            left = max(0.0, self._left_s - (self._clock() - self._predicted_at))
            tail.append(f"{duration_text(left)} left")
        if self.total:
            tail.insert(0, f"{self.done} of {self.total}")
            if self._redraw:
                bar = self._bar(self.done / self.total)
                if len("   ".join([self._phase, bar, *tail])) <= columns:
                    tail.insert(0, bar)
        end = "   ".join(tail)
        room = max(0, columns - len(end) - 3)
        head = self._phase if len(self._phase) <= room else self._phase[: max(0, room - 3)] + "..."
        return "   ".join([head, end])[:columns]

    def _bar(self, share: float) -> str:
        full = int(_BAR * min(1.0, share))
        blocks = "utf" in (getattr(self._stream, "encoding", None) or "").lower()
        return ("█" * full).ljust(_BAR, "░") if blocks else ("#" * full).ljust(_BAR, ".")

    def _draw(self) -> None:
        if self._stream is None:
            return
        self._shown_at = self._clock()
        before = len(self._drawn)
        columns = max(30, shutil.get_terminal_size().columns)
        self._drawn = "  " + self.text(columns - 3)
        self._write("\r" + self._drawn.ljust(before))  # spaces over a longer line

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


def stderr_progress(quiet: bool = False) -> Progress:
    """On stderr: drawn again on a terminal and in a notebook, lines in a log."""
    if quiet:
        return Progress()
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Progress(sys.stderr, redraw=terminal or in_notebook())
