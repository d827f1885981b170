"""An image size that changes during training: small images first, because they train faster."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._c.plain import plain


@dataclass(frozen=True)
class Schedule:
    """Sets the `size` of a crop or resize by epoch.

        T.RandomResizedCrop(T.Schedule({0: 128, 10: 160, 18: 192}))

    In this example, the size is 128 from epoch 0, 160 from epoch 10 and 192 from epoch 18. The first epoch must be
    0. A size is a number or (height, width), as without a Schedule. Memory is reserved for the largest size.

    A transform with a changing size must be at the top level of the list, not inside RandomApply, RandomChoice or
    RandomOrder. T.Schedule({0: 128}) never changes and is allowed everywhere.
    """

    sizes: Mapping[int, int | Sequence[int]]

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, Mapping):
            raise TypeError(
                f"Schedule takes a dict of sizes by epoch, {{0: 128, 10: 160}}, not {self.sizes!r}"
            )
        epochs = {operator.index(epoch): size for epoch, size in self.sizes.items()}
        if min(epochs, default=0) < 0:
            raise ValueError(f"Schedule: epochs must be 0 or later, not {min(epochs)}")
        if 0 not in epochs:
            first = "".join(f", {epoch}: {size!r}" for epoch, size in sorted(epochs.items())[:1])
            raise ValueError(
                f"Schedule: the size of epoch 0 is missing: write "
                f"T.Schedule({{0: 128{first}{', ...' if len(epochs) > 1 else ''}}})"
            )
        object.__setattr__(self, "sizes", dict(sorted(epochs.items())))

    def _json(self) -> dict[str, Any]:
        return {str(epoch): plain(size) for epoch, size in self.sizes.items()}


def from_json(value: Any) -> Any:
    """Converts a `size` argument from JSON. An object becomes a Schedule."""
    if not isinstance(value, dict):
        return value
    try:
        return Schedule({int(epoch): size for epoch, size in value.items()})
    except ValueError:
        raise ValueError(
            f'a Schedule is written as {{"0": 128, "10": 160}}, not {value!r}'
        ) from None
