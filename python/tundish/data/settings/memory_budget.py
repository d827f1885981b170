"""Loader(memory=...): the memory budget of a loader, in bytes."""

from __future__ import annotations

import re
import weakref
from typing import Any, Protocol

from ..._c.library import lib
from . import argument_checks as checks
from .world import local_world_size

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS[f"{_letter}B"] = 1000**_power
    _UNITS[f"{_letter}IB"] = 1024**_power


def budget_of(options: Any) -> int:
    """Returns the budget from a loader's options. With a cache, the default of `memory` is "auto"."""
    automatic = options.memory is None and options.cache is not None
    return budget("auto" if automatic else options.memory)


def budget(value: Any) -> int:
    """Converts "8GiB", "500MB", a number, "auto" or None to bytes; 0 means no limit."""
    if value is None:
        return 0
    if value == "auto":
        return default_budget()
    return parse_bytes(value, "memory", '"8GiB", "500MB", "auto"')


def parse_bytes(value: Any, name: str, examples: str) -> int:
    """Converts "8GiB", "500MB" or a number to bytes."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", value, re.IGNORECASE)
        if not found or found[2].upper() not in _UNITS:
            raise ValueError(f"{name} must be like {examples} or bytes, not {value!r}")
        value = int(float(found[1]) * _UNITS[found[2].upper()])
    return checks.whole(value, name, least=1, most=2**62)


def default_budget() -> int:
    """Returns half of the memory that the process may still use, divided by the number of local ranks.

    Takes cgroup limits and available memory into account. Memory that other loaders have reserved does not count
    as free.
    """
    reserved = sum(loader.unused_memory() for loader in list(_loaders))
    left = int(lib.tundish_memory_left()) // local_world_size()
    return max(1, (left - reserved) // 2)


class Budgeted(Protocol):
    """A loader with a memory budget."""

    def unused_memory(self) -> int: ...


_loaders: weakref.WeakSet[Budgeted] = weakref.WeakSet()


def reserve(loader: Budgeted) -> None:
    """Makes default_budget() subtract the loader's unused budget while the loader exists."""
    _loaders.add(loader)


def text(count: int) -> str:
    """Formats a number of bytes: 1610612736 -> "1.5 GiB"."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.4g} {unit}"
    return f"{count} bytes"
