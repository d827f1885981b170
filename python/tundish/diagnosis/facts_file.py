"""Reads the files that a watched process wrote: its facts, and its part of a timeline.

Checks the version, and the type and size of every field.
"""

from __future__ import annotations

import functools
import json
import math
import os
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .probe.facts import VERSION, Facts
from .probe.profiles import timeline_part
from .probe.profiles.timeline_part import TimelinePart

MOST_BYTES = 256 << 20  # largest file
MOST_ITEMS = 1_000_000  # most items of a list or a dict
MOST_CHARACTERS = 1 << 20  # longest string
_LARGEST = 1 << 63


class FactsError(ValueError):
    """Raised for an invalid facts file. The message names the file and the field."""


def read_facts(path: str) -> Facts:
    """Reads the facts that a process wrote. Raises FactsError or OSError."""
    return parse_facts(_read_json(path), path)


def parse_facts(values: object, path: str) -> Facts:
    """Converts parsed JSON to Facts. `path` names the file in error messages. Raises FactsError."""
    facts = _parse_file(Facts, VERSION, values, path)
    assert isinstance(facts, Facts)
    return facts


def read_timeline_part(path: str) -> TimelinePart:
    """Reads one process's part of a timeline. Raises FactsError or OSError."""
    part = _parse_file(TimelinePart, timeline_part.VERSION, _read_json(path), path)
    assert isinstance(part, TimelinePart)
    if len(part.clocks) != 2:
        raise FactsError(f"{path}: clocks: {len(part.clocks)} elements instead of 2")
    return part


def _read_json(path: str) -> object:
    if os.path.getsize(path) > MOST_BYTES:
        raise FactsError(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read(MOST_BYTES)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FactsError(f"{path}: not JSON: {error}") from None


def _parse_file(kind: type, expected: int, values: object, path: str) -> Any:
    version = values.get("version") if isinstance(values, dict) else None
    if version != expected:
        raise FactsError(f"{path}: version: {_shown(version)} instead of {expected}")
    try:
        return _parse(kind, values, "")
    except _FieldError as error:
        raise FactsError(f"{path}: {error}") from None


class _FieldError(ValueError):
    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field or 'the file'}: {text}")


@functools.lru_cache(None)
def _types(kind: type) -> dict[str, Any]:
    """Returns the field types of a dataclass."""
    return get_type_hints(kind)


def _parse(kind: Any, value: Any, field: str) -> Any:
    """Converts `value` to the type `kind` that a dataclass declares for `field`."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None
        if value is None and NoneType in inner:
            return None
        (kind,) = (one for one in inner if one is not NoneType)
        return _parse(kind, value, field)
    if is_dataclass(kind):
        return _parse_object(kind, value, field)
    if origin is list:
        _check_size(list, value, field)
        return [_parse(inner[0], item, f"{field}[{at}]") for at, item in enumerate(value)]
    if origin is dict:
        _check_size(dict, value, field)
        return {key: _parse(inner[1], item, f"{field}.{key}") for key, item in value.items()}
    if origin is Literal:
        if not isinstance(value, str) or value not in inner:
            raise _FieldError(field, f"{_shown(value)} is not one of {', '.join(inner)}")
        return value
    return _parse_plain(kind, value, field)


def _parse_object(kind: Any, value: Any, field: str) -> Any:
    if not isinstance(value, dict):
        raise _FieldError(field, f"{_shown(value)} is not an object")
    types, prefix = _types(kind), f"{field}." if field else ""
    for name in types:
        if name not in value:
            raise _FieldError(f"{prefix}{name}", "missing")
    for name in value:
        if name not in types:
            raise _FieldError(f"{prefix}{name[:80]}", "unknown")
    return kind(**{name: _parse(types[name], value[name], f"{prefix}{name}") for name in types})


def _parse_plain(kind: type, value: Any, field: str) -> Any:
    accepted = (int, float) if kind is float else (kind,)
    if type(value) not in accepted:
        raise _FieldError(field, f"{_shown(value)} is not of type {kind.__name__}")
    if kind is str:
        _check_size(str, value, field)
    elif kind is not bool and not (math.isfinite(value) and abs(value) < _LARGEST):
        raise _FieldError(field, f"{_shown(value)} is out of range")
    return value


def _check_size(kind: type, value: Any, field: str) -> None:
    if not isinstance(value, kind):
        raise _FieldError(field, f"{_shown(value)} is not of type {kind.__name__}")
    most = MOST_CHARACTERS if kind is str else MOST_ITEMS
    size = len(value)  # type: ignore[arg-type]
    if size > most:
        raise _FieldError(field, f"{size:,} elements; the limit is {most:,}")


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return f"a {type(value).__name__} of {len(value):,}"
    text = repr(value[:40] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
