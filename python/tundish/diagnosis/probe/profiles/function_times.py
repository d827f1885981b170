"""Profiles the Python functions that run in the loop's thread during some steps.

Uses the C module behind cProfile directly, because cProfile imports Python's module `profile`, which
would hide a file profile.py of the script.
"""

from __future__ import annotations

import _lsprof
import sys
import threading
from typing import Any

from ...._process.code_origin import is_own_file
from .recorded_facts import FunctionRow, FunctionsFacts

MOST_ROWS = 60


class FunctionTimes:
    """A recorder (see recorders.py) of function times.

    Profiling slows Python down considerably, so only the relative times are reliable.
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.failed = steps, ""
        self._seen = 0
        self._profile: Any = None
        self._rows: list[FunctionRow] = []
        self._threads = 1

    def start(self, watch: Any) -> None:
        if sys.getprofile() is not None:  # do not replace the script's profiler
            raise RuntimeError("the script uses a profiler itself")
        self._profile = _lsprof.Profiler()
        self._threads = threading.active_count()
        self._profile.enable()

    def changed(self, ended: str, since: float, now: float, begins: str) -> None: ...

    def step_ended(self, batch: Any) -> None:
        self._seen += 1

    def stop(self) -> None:
        profile, self._profile = self._profile, None
        if profile is None:
            return
        profile.disable()
        rows = [_row(entry, max(1, self._seen)) for entry in profile.getstats()]
        self._rows = slowest([row for row in rows if not is_own_file(row.file)])

    def facts(self) -> FunctionsFacts | None:
        return FunctionsFacts(self._seen, self._rows) if self._rows else None


def slowest(rows: list[FunctionRow]) -> list[FunctionRow]:
    """Returns the rows with the largest own times and the rows with the largest total times.

    The latter include a user's function that only calls a slow function.
    """
    half = MOST_ROWS // 2
    kept: dict[int, FunctionRow] = {}
    by_own_time = sorted(rows, key=lambda row: -row.own_s)
    for row in [*sorted(rows, key=lambda row: -row.all_s)[:half], *by_own_time[:MOST_ROWS]]:
        if len(kept) < MOST_ROWS:
            kept[id(row)] = row
    return sorted(kept.values(), key=lambda row: -row.own_s)


def _row(entry: Any, steps: int) -> FunctionRow:
    """Converts a profiler entry to a row with values per step.

    `own_s` excludes the time of called functions; `all_s` includes it.
    """
    if isinstance(entry.code, str):  # a C function: "<built-in method time.sleep>"
        file, line, name = "", 0, entry.code.strip("<>")
    else:
        code = entry.code
        name = getattr(code, "co_qualname", code.co_name)  # needs Python 3.11
        file, line = code.co_filename, code.co_firstlineno
    return FunctionRow(
        function=name,
        file=file,
        line=line,
        calls=entry.callcount / steps,
        own_s=entry.inlinetime / steps,
        all_s=entry.totaltime / steps,
    )
