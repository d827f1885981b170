"""A list of transforms as JSON text, and back: a recipe as a file.

open("recipe.json", "w").write(T.to_json(transforms))
transforms = T.from_json(open("recipe.json").read())
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from . import schedule
from .base import Transform, transforms_json
from .missing import instead_of


def to_json(transforms: Sequence[Transform]) -> str:
    """The list as JSON text, for `tundish view --transforms` and T.from_json()."""
    return json.dumps(transforms_json(transforms), indent=1) + "\n"


def from_json(text: str) -> list[Transform]:
    """The list that T.to_json() was given. The engine checks the arguments when the list is used."""
    listed = json.loads(text)
    if not isinstance(listed, list):
        raise ValueError(f"a list of transforms is a JSON array, not {type(listed).__name__}")
    return [_transform(one) for one in listed]


def _transform(one: Any) -> Transform:
    known = {kind.__name__: kind for kind in Transform.__subclasses__()}
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise ValueError(
            f'a transform is written as {{"name": "Resize", "size": 224}}, not {one!r}'
        )
    name = one["name"]
    if name not in known:
        raise ValueError(f"tundish has no transform {name}: {instead_of(name)}")
    given = {key: schedule.from_json(value) for key, value in one.items() if key != "name"}
    unknown = set(given) - {field.name for field in fields(known[name])}
    if unknown:
        raise ValueError(f"{name} has no argument {sorted(unknown)[0]!r}")
    if "transforms" in given:
        given["transforms"] = [_transform(inner) for inner in given["transforms"]]
    try:
        return known[name](**given)
    except TypeError as error:  # an argument is missing
        raise ValueError(f"{name}: {error}") from None
