"""Plans many samples. Works like T.plan() in a loop, but parses the transforms only once."""

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
    """Returns the plans of samples 0 to count - 1 for images of size (height, width)."""
    text = _text(transforms)
    for first in range(0, count, AT_ONCE):
        draw = Draw(size[1], size[0], seed, 0, first, 0, 0, 0)
        made = _plans(text, draw, min(AT_ONCE, count - first))
        for place in (0, len(made) - 1):
            assert made[place] == T.plan(transforms, size, seed=seed, sample=first + place)
        yield from made
