"""Loader(memory=...): how many bytes a loader may use."""

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


def of_options(options: Any) -> int:
    """Of a loader's options; a cache alone asks for "auto"."""
    automatic = options.memory is None and options.cache is not None
    return budget("auto" if automatic else options.memory)


def budget(value: Any) -> int:
    """Bytes, 0 for none: "8GiB", "500MB", a number, "auto", None."""
    if value is None:
        return 0
    if value == "auto":
        return default_budget()
    return count_of(value, "memory", '"8GiB", "500MB", "auto"')


def count_of(value: Any, name: str, examples: str) -> int:
    """Bytes: "8GiB", "500MB", a number."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", value, re.IGNORECASE)
        if not found or found[2].upper() not in _UNITS:
            raise ValueError(f"{name} must be like {examples} or bytes, not {value!r}")
        value = int(float(found[1]) * _UNITS[found[2].upper()])
    return checks.whole(value, name, least=1, most=2**62)


def default_budget() -> int:
    """Half of what the process may still take (cgroup limits, available memory), divided by the
    ranks on this machine. Memory that other loaders of the process may still take is not counted as free."""
    promised = sum(loader.unused_memory() for loader in list(_loaders))
    left = int(lib.tundish_memory_left()) // local_world_size()
    return max(1, (left - promised) // 2)


class Budgeted(Protocol):
    """A loader that has a budget."""

    def unused_memory(self) -> int: ...


_loaders: weakref.WeakSet[Budgeted] = weakref.WeakSet()


def promise(loader: Budgeted) -> None:
    """From now on default_budget() leaves this loader what it was given, as long as it lives."""
    _loaders.add(loader)


def text(count: int) -> str:
    """1610612736 -> "1.5 GiB"."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.4g} {unit}"
    return f"{count} bytes"
