"""Converts a list of transforms to JSON text and back, to store a recipe in a file.

Example:

    open("recipe.json", "w").write(T.to_json(transforms))
    transforms = T.from_json(open("recipe.json").read())
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from .._c.close_name import close_name
from . import schedule
from .replacements import meant_or_instead
from .transform import Transform, transforms_json, views_json


def to_json(transforms: Sequence[Transform] | Sequence[Sequence[Transform]]) -> str:
    """Converts a list of transforms to JSON text, for `tundish view --transforms` and T.from_json().

    Also accepts several lists of transforms, as in Loader(views=...); `tundish view --view N` shows one of them.
    """
    views = isinstance(transforms, list | tuple) and isinstance(
        next(iter(transforms), None), list | tuple
    )
    given: Any = transforms
    return json.dumps(views_json(given) if views else transforms_json(given), indent=1) + "\n"


def from_json(text: str) -> list[Any]:
    """Converts text from T.to_json() back to transforms. Their arguments are checked when they are first used."""
    listed = json.loads(text)
    if not isinstance(listed, list):
        raise ValueError(f"a list of transforms is a JSON array, not {type(listed).__name__}")
    if listed and all(isinstance(entry, list) for entry in listed):
        return [[_transform(entry) for entry in view] for view in listed]
    return [_transform(entry) for entry in listed]


def _transform(entry: Any) -> Transform:
    known = {kind.__name__: kind for kind in Transform.__subclasses__()}
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(
            f'a transform is written as {{"name": "Resize", "size": 224}}, not {entry!r}'
        )
    name = entry["name"]
    if name not in known:
        raise ValueError(f"tundish has no transform {name}: {meant_or_instead(name, known)}")
    given = {key: schedule.from_json(value) for key, value in entry.items() if key != "name"}
    arguments = [field.name for field in fields(known[name])]
    for unknown in sorted(set(given) - set(arguments)):
        close = close_name(unknown, arguments)
        advice = f": did you mean {close}?" if close else ""
        raise ValueError(f"{name} has no argument {unknown!r}{advice}")
    if "transforms" in given:
        given["transforms"] = [_transform(inner) for inner in given["transforms"]]
    try:
        return known[name](**given)
    except TypeError as error:  # an argument is missing
        raise ValueError(f"{name}: {error}") from None
