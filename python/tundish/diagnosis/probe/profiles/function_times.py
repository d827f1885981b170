"""Which functions the loop's thread is in, by cProfile: the host's side of some steps."""

from __future__ import annotations

import cProfile
import os
import threading
from typing import Any

MOST_ROWS = 60
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class FunctionTimes:
    """A recorder (recorders.py). cProfile slows Python down by half and more; the shares are what counts."""

    def __init__(self, steps: int) -> None:
        self.steps, self.failed = steps, ""
        self._seen = 0
        self._profile: cProfile.Profile | None = None
        self._rows: list[dict[str, Any]] = []
        self._threads = 1

    def start(self, watch: Any) -> None:
        self._profile = cProfile.Profile()
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
        rows = [_row(one, max(1, self._seen)) for one in profile.getstats()]
        self._rows = slowest([one for one in rows if not one["file"].startswith(_OURS)])

    def as_json(self) -> dict[str, Any] | None:
        return {"steps": self._seen, "rows": self._rows} if self._rows else None


def slowest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By own time, and by the time with what they call: a user's function that only calls a slow one is kept too."""
    half = MOST_ROWS // 2
    kept: dict[int, dict[str, Any]] = {}
    for time, most in (("all_s", half), ("own_s", MOST_ROWS)):
        for one in sorted(rows, key=lambda one: -float(one[time]))[:most]:
            if len(kept) < MOST_ROWS:
                kept[id(one)] = one
    return sorted(kept.values(), key=lambda one: -float(one["own_s"]))


def _row(one: Any, steps: int) -> dict[str, Any]:
    """Of one step. `own_s` is without the functions that it calls, `all_s` with them."""
    if isinstance(one.code, str):  # a function of C: "<built-in method time.sleep>"
        file, line, name = "", 0, one.code.strip("<>")
    else:
        file, line, name = one.code.co_filename, one.code.co_firstlineno, one.code.co_qualname
    return {
        "function": name,
        "file": file,
        "line": line,
        "calls": one.callcount / steps,
        "own_s": one.inlinetime / steps,
        "all_s": one.totaltime / steps,
    }
