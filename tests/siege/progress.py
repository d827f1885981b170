"""Progress of a long check: a line redrawn on a terminal, otherwise one line per step."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, total: int, unit: str = "files") -> None:
        self._total, self._done, self._unit = total, 0, unit
        self._begin = time.monotonic()

    def step(self, count: int, what: str) -> None:
        self._done += count
        passed = time.monotonic() - self._begin
        rate = self._done / passed if passed else 0.0
        left = round((self._total - self._done) / rate) if rate else 0
        text = f"siege: {self._done:,} of {self._total:,} {self._unit}, {rate:.1f}/s"
        text += f", {left // 60}:{left % 60:02} left  ({what})"
        if sys.stderr.isatty():
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
