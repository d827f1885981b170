"""Reads and writes boost.json, the result of `tundish boost`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .._c.errors import ArgumentError, MissingError
from .._cli.json_output import json_text
from .inject.request import request_of_result
from .search.results import FORMAT, BoostResult

_MOST_BYTES = 64 << 20
_KEYS: dict[str, Any] = {
    "changes": list,
    "objects": dict,
    "script": str,
    "digest": str,
    "gain": (int, float),
}


def save(result: BoostResult, path: str) -> None:
    """Writes the file by rename, so that it is complete or not there."""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json_text(result.as_json()))
    os.replace(new, path)


def load(path: str) -> dict[str, Any]:
    """Returns the JSON of a result. Raises MissingError or ArgumentError."""
    try:
        if os.path.getsize(path) > _MOST_BYTES:
            raise _not_a_result(path, f"it has more than {_MOST_BYTES >> 20} MiB")
        values = json.loads(Path(path).read_text(encoding="utf-8", errors="surrogateescape"))
    except FileNotFoundError:
        raise MissingError(
            f"{path}: no such file\n  fix: make it: tundish boost -o {path} -- python train.py"
        ) from None
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _not_a_result(path, f"not JSON: {error}") from None
    _check(values, path)
    return dict(values)


def _check(values: Any, path: str) -> None:
    if not isinstance(values, dict) or values.get("format") is None:
        raise _not_a_result(path, "format is missing")
    if values["format"] != FORMAT:
        text = f"{path}: format {values['format']!r}; this version of Tundish reads {FORMAT}"
        raise ArgumentError(f"{text}\n  fix: search again: tundish boost -f -- python train.py")
    for key, kind in _KEYS.items():
        if not isinstance(values.get(key), kind):
            raise _not_a_result(path, f"{key} is missing or of another type")
    for change in values["changes"]:
        texts = isinstance(change, dict) and [change.get("name"), change.get("value")]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise _not_a_result(path, "changes: each needs a name and a value")
    try:
        request_of_result(values, path)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _not_a_result(path, f"objects: {type(error).__name__}: {error}") from None


def _not_a_result(path: str, reason: str) -> ArgumentError:
    return ArgumentError(
        f"{path} is not a result of tundish boost: {reason}\n"
        f"  fix: tundish boost -f -o {path} -- python train.py"
    )
