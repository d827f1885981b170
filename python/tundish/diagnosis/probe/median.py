"""The median, computed without Python's module `statistics`.

The watch is imported before the script. Every module that it imports would hide a file of the same
name in the script's folder. It therefore imports only modules that torch imports too.
"""

from __future__ import annotations

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """Returns the median of one or more numbers."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
