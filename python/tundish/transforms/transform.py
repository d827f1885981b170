"""The base class of transforms.

The engine describes and checks every argument (src/augment/). The classes here only hold arguments.
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
    """Base class of transforms, which turn a decoded image into an image of the batch."""

    # Arguments for the picture in docs/reference.md and for the benchmark, if an argument has no default.
    example: ClassVar[str] = ""

    def __post_init__(self) -> None:
        held = getattr(self, "transforms", None)
        if isinstance(held, Iterator):  # would be empty when it is read again
            object.__setattr__(self, "transforms", tuple(held))

    def _json(self) -> dict[str, Any]:
        """Returns the name and the arguments of the transform, for the engine."""
        out: dict[str, Any] = {"name": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if (
                field.name == "antialias"
            ):  # torchvision has this argument; Tundish always antialiases, as with True
                if value is False:
                    raise ValueError(
                        "antialias=False is not supported: every resize is antialiased"
                    )
            elif field.name == "transforms":
                out[field.name] = transforms_json(value)
            else:
                is_schedule = isinstance(value, Schedule)
                out[field.name] = value._json() if is_schedule else plain(value)
        return out


def transforms_json(transforms: Sequence[Transform]) -> list[dict[str, Any]]:
    """Returns all transforms in order, for the engine."""
    if isinstance(transforms, Transform):
        raise TypeError(f"transforms must be a list: transforms=[{transforms!r}]")
    if not isinstance(transforms, Iterable):  # torchvision's Compose, or a function
        raise TypeError(
            f"transforms must be a list of tundish.transforms, not {type(transforms).__name__}: write "
            "[T.RandomResizedCrop(224), T.Normalize()] with its steps, or use T.from_torchvision"
        )
    transforms = list(transforms)  # an iterator can be read once
    for transform in transforms:
        if not isinstance(transform, Transform):
            raise TypeError(
                f"{transform!r} is not a transform of tundish. Use tundish.transforms, which takes torchvision's "
                f"arguments, or T.from_torchvision. If Tundish does not have the transform, {instead_of(type(transform).__name__)}"
            )
    return [transform._json() for transform in transforms]


def views_json(views: Sequence[Sequence[Transform]]) -> list[list[dict[str, Any]]]:
    """Returns one list per view, for the engine."""
    if isinstance(views, Transform) or not isinstance(views, Iterable):
        raise TypeError("views must be lists of transforms: views=[[...], [...]]")
    views = list(views)
    if any(isinstance(view, Transform) for view in views):
        raise TypeError(
            "views must be lists of transforms, one list per view: views=[[...], [...]]; for a single "
            "view use transforms=[...]"
        )
    return [transforms_json(view) for view in views]
