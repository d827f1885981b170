"""The plans of many samples: T.plan() in a loop, but the transforms become text once, which takes half of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tundish import transforms as T
from tundish._c.structs import Draw
from tundish.transforms.apply import _plan, _text


def many_plans(
    transforms: Sequence[T.Transform], size: tuple[int, int], count: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Of the samples 0 to count - 1 of images of that (height, width)."""
    text = _text(transforms)
    last = count - 1
    for sample in range(count):
        made = _plan(text, Draw(size[1], size[0], seed, 0, sample, 0, 0, 0))
        if sample in (0, last):
            assert made == T.plan(transforms, size, seed=seed, sample=sample)
        yield made
