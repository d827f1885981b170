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

    From epoch 0 on 128, from epoch 10 on 160, from epoch 18 on 192. One of the epochs must be 0.
    """

    sizes: Mapping[int, int | Sequence[int]]

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, Mapping):
            raise TypeError(
                f"Schedule takes a size by epoch, {{0: 128, 10: 160}}, not {self.sizes!r}"
            )
        epochs = {operator.index(epoch): size for epoch, size in self.sizes.items()}
        if 0 not in epochs or min(epochs) < 0:
            raise ValueError(
                f"Schedule: the epochs are 0 and later ones, {{0: 128, 10: 160}}, not {sorted(epochs)}"
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
