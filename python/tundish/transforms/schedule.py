"""A size that changes as the training goes on: small images first, which are faster."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._c.plain import plain


@dataclass(frozen=True)
class Schedule:
    """A size by epoch, for the `size` of a crop or a resize.

    T.RandomResizedCrop(T.Schedule({0: 128, 10: 160, 18: 192}))

    From epoch 0 on 128, from epoch 10 on 160, from epoch 18 on 192. One of the epochs must be 0. A size is a
    number or (height, width), as without a Schedule. Memory is reserved for the largest one.

    It stands in the list itself: RandomApply, RandomChoice and RandomOrder hold no transform whose size changes.
    T.Schedule({0: 128}) changes nothing, and is 128 wherever it stands.
    """

    sizes: Mapping[int, int | Sequence[int]]

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, Mapping):
            raise TypeError(
                f"Schedule takes a size by epoch, {{0: 128, 10: 160}}, not {self.sizes!r}"
            )
        epochs = {operator.index(epoch): size for epoch, size in self.sizes.items()}
        if min(epochs, default=0) < 0:
            raise ValueError(f"Schedule: an epoch is 0 or later, not {min(epochs)}")
        if 0 not in epochs:
            first = "".join(f", {epoch}: {size!r}" for epoch, size in sorted(epochs.items())[:1])
            raise ValueError(
                f"Schedule: the size of epoch 0, with which a training begins, is missing: write "
                f"T.Schedule({{0: 128{first}{', ...' if len(epochs) > 1 else ''}}})"
            )
        object.__setattr__(self, "sizes", dict(sorted(epochs.items())))

    def _json(self) -> dict[str, Any]:
        return {str(epoch): plain(size) for epoch, size in self.sizes.items()}


def from_json(value: Any) -> Any:
    """A Schedule where the JSON of an argument is an object."""
    if not isinstance(value, dict):
        return value
    try:
        return Schedule({int(epoch): size for epoch, size in value.items()})
    except ValueError:
        raise ValueError(
            f'a Schedule is written as {{"0": 128, "10": 160}}, not {value!r}'
        ) from None
