"""Assigns unique process numbers in a timeline, because several ranks may have a "GPU 0"."""

from __future__ import annotations

from typing import Any

_FIRST_FREE = 1_000_000_000  # above any Linux process id
FLOW_BITS = 40


class Tracks:
    """Assigns a unique number to each key. Keeps the original number if it is free."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._taken: set[int] = set()
        self._next = _FIRST_FREE

    def number(self, key: Any, wanted: int | None = None) -> int:
        found = self._numbers.get(key)
        if found is None:
            if wanted is None or wanted in self._taken:
                found, self._next = self._next, self._next + 1
            else:
                found = wanted
            self._numbers[key] = found
            self._taken.add(found)
        return found


def name_event(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    """Returns an event that names a process or a thread. `kind` is "process_name" or "thread_name"."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def sort_event(pid: int, index: int) -> dict[str, Any]:
    """Returns an event that sets the position of a process. Smaller indexes are higher on the page."""
    return {
        "ph": "M",
        "name": "process_sort_index",
        "pid": pid,
        "tid": 0,
        "args": {"sort_index": index},
    }
