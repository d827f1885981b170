"""Reads a plan's JSON file and checks every field, so that an error names the wrong field."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from .._c.errors import ArgumentError, MissingError
from .._c.library import version
from .report.results import TuneReport

FORMAT = 1
_TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class BadField(ValueError):
    """Raised for a wrong field in a plan file. The message begins with the name of the field."""


def read_plan(name: str) -> dict[str, Any]:
    """Returns the JSON object in the file. Raises BadField if the file is not a plan of this format."""
    try:
        with open(name, encoding="utf-8") as file:
            values = json.load(file)
    except FileNotFoundError:
        raise MissingError(
            f"{name}: no such file\n  fix: make a plan: tundish tune FILE:FUNCTION -o {name}"
        ) from None
    except OSError as error:
        raise ArgumentError(
            f"{name} cannot be read: {error.strerror}\n  fix: name the file that plan.save() wrote"
        ) from None
    except json.JSONDecodeError as error:
        raise BadField(
            f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except UnicodeDecodeError as error:
        raise BadField(f"it is not text in UTF-8: byte {error.start} is wrong") from None
    except (RecursionError, ValueError) as error:  # ValueError: an integer with thousands of digits
        raise BadField(f"it is not JSON: {error}") from None
    check_format(values, name)
    return dict(values)


def check_format(values: Any, name: str) -> None:
    if not isinstance(values, dict):
        raise BadField(f"it holds {kind_of(values)}, not an object")
    if "format" not in values:
        raise BadField("format is missing")
    found = values["format"]
    if not fits_int(found):
        raise BadField(f"format is {kind_of(found)}, not a whole number")
    if found > FORMAT:
        raise ArgumentError(
            f"{name}: format is {found}, saved by a newer version of Tundish; {version()} reads format {FORMAT}\n"
            f"  fix: pip install --upgrade tundish; or make the plan again with this version: "
            f"tundish tune FILE:FUNCTION -f -o {name}"
        )
    if found != FORMAT:
        raise BadField(f"format is {found}; the first format is {FORMAT}")


def part(values: dict[str, Any], field: str, where: str = "") -> Any:
    if field not in values:
        raise BadField(f"{where}{'.' if where else ''}{field} is missing")
    return values[field]


def check_report(values: dict[str, Any]) -> None:
    """Checks the fields of a report that all code reading a plan relies on."""
    check_object(TuneReport, values, "report")
    for i, row in enumerate(values.get("rows", ())):
        for k, trick in enumerate(row["tricks"]):
            where = f"report.rows[{i}].tricks[{k}]"
            check_value(str, part(trick, "name", where), f"{where}.name")
    for name, gain in values.get("gains", {}).items():
        part(gain, "gain", f"report.gains.{name}")


def check_object(kind: type, values: Any, where: str) -> None:
    """Checks that `values` has the fields of the dataclass `kind`, each with its type.

    Raises BadField for the first wrong field.
    """
    if not isinstance(values, dict):
        raise BadField(f"{where} is {kind_of(values)}, not an object")
    known = {known_field.name: known_field for known_field in fields(kind)}
    for name in values:
        if name not in known:
            raise BadField(
                f"{where} has an unknown field, {name}, which a newer version may have saved"
            )
    hints = get_type_hints(kind)
    for name, known_field in known.items():
        if name in values:
            check_value(hints[name], values[name], f"{where}.{name}")
        elif known_field.default is MISSING and known_field.default_factory is MISSING:
            raise BadField(f"{where}.{name} is missing")


def check_value(hint: Any, value: Any, where: str) -> None:
    """Checks the type of a plan field. Unknown type hints allow any value."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is not None:
            check_value(next(member for member in inner if member is not type(None)), value, where)
    elif origin is dict:
        if not isinstance(value, dict):
            raise BadField(f"{where} is {kind_of(value)}, not an object")
        for key, item in value.items():
            check_value(inner[1], item, f"{where}.{key}")
    elif origin in (list, tuple):
        check_list(hint, value, where)
    elif isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        check_object(hint, value, where)
    elif hint in _TYPE_NAMES and not FITS[hint](value):
        raise BadField(f"{where} is {kind_of(value)}, not {_TYPE_NAMES[hint]}")


def check_list(hint: Any, value: Any, where: str) -> None:
    if not isinstance(value, (list, tuple)):
        raise BadField(f"{where} is {kind_of(value)}, not a list")
    inner = get_args(hint)
    each = [inner[0]] * len(value) if get_origin(hint) is list or Ellipsis in inner else inner
    if len(each) != len(value):
        raise BadField(f"{where} has {len(value)} values, not {len(each)}")
    for i, (item, kind) in enumerate(zip(value, each)):
        check_value(kind, item, f"{where}[{i}]")


def fits_int(value: Any) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)


FITS: dict[type, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    int: fits_int,
    float: lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    bool: lambda value: isinstance(value, bool),
}


def kind_of(value: Any) -> str:
    """Describes a value in JSON terms."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value:g}" if isinstance(value, float) else "a number"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "an object" if isinstance(value, dict) else "a list"
