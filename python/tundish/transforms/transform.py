"""A transform as the engine takes it.

The engine describes and checks every argument (src/augment/); a class here only holds what was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from .._c.plain import plain
from .replacements import instead_of
from .schedule import Schedule


@dataclass(frozen=True)
class Transform:
    """Base class of the transforms: one step on the way from a decoded image to a batch."""

    # As the reference's picture and the benchmark show it, where an argument has no default.
    example: ClassVar[str] = ""

    def __post_init__(self) -> None:
        held = getattr(self, "transforms", None)
        if isinstance(held, Iterator):  # would be empty when it is read again
            object.__setattr__(self, "transforms", tuple(held))

    def _json(self) -> dict[str, Any]:
        """As the engine takes it: its name and its arguments."""
        out: dict[str, Any] = {"name": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "antialias":  # torchvision's, and the only way to resize here
                if value is False:
                    raise ValueError(
                        "antialias=False is not offered: every resize here is antialiased"
                    )
            elif field.name == "transforms":
                out[field.name] = transforms_json(value)
            else:
                is_schedule = isinstance(value, Schedule)
                out[field.name] = value._json() if is_schedule else plain(value)
        return out


def transforms_json(transforms: Sequence[Transform]) -> list[dict[str, Any]]:
    """All of them, in order, as the engine takes them."""
    if isinstance(transforms, Transform):
        raise TypeError(f"transforms must be a list: transforms=[{transforms!r}]")
    if not isinstance(transforms, Iterable):  # Compose of torchvision, or a function
        raise TypeError(
            f"transforms must be a list of tundish.transforms, not {type(transforms).__name__}: write "
            "[T.RandomResizedCrop(224), T.Normalize()] with the steps that it has, or use T.from_torchvision"
        )
    transforms = list(transforms)  # an iterator can be read once
    for transform in transforms:
        if not isinstance(transform, Transform):
            raise TypeError(
                f"{transform!r} is not a transform of tundish. Use those of tundish.transforms, which "
                f"take torchvision's arguments, or T.from_torchvision. If it is not among them, {instead_of(type(transform).__name__)}"
            )
    return [transform._json() for transform in transforms]


def views_json(views: Sequence[Sequence[Transform]]) -> list[list[dict[str, Any]]]:
    """One list for each view, as the engine takes them."""
    if isinstance(views, Transform) or not isinstance(views, Iterable):
        raise TypeError("views must be lists of transforms: views=[[...], [...]]")
    views = list(views)
    if any(isinstance(view, Transform) for view in views):
        raise TypeError(
            "views must be lists of transforms, one list for each view: views=[[...], [...]]; for one "
            "view use transforms=[...]"
        )
    return [transforms_json(view) for view in views]
