"""The plans of many samples: T.plan() in a loop, but the transforms are read once for many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tundish import transforms as T
from tundish._c.structs import Draw
from tundish.transforms.apply import _plans, _text

AT_ONCE = 1000


def many_plans(
    transforms: Sequence[T.Transform], size: tuple[int, int], count: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Of the samples 0 to count - 1 of images of that (height, width)."""
    text = _text(transforms)
    for first in range(0, count, AT_ONCE):
        draw = Draw(size[1], size[0], seed, 0, first, 0, 0, 0)
        made = _plans(text, draw, min(AT_ONCE, count - first))
        for place in (0, len(made) - 1):
            assert made[place] == T.plan(transforms, size, seed=seed, sample=first + place)
        yield from made
