"""Parses memory sizes in arguments: bytes, or text such as "40GiB"."""

from __future__ import annotations

from ..._c.errors import ArgumentError
from ...data.settings.memory_budget import parse_bytes


def limit_bytes(value: int | str, name: str = "the size") -> int:
    """Returns the bytes for "40GiB", "500MB" or a number. Raises ArgumentError, with `name` in the text."""
    try:
        return parse_bytes(value, name, '"40GiB", "500MB"')
    except ValueError as error:
        raise ArgumentError(str(error)) from None
