"""The form of a loader's batches: a tuple of tensors, or a dict of all fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._c.tensor import Tensor
from .pinned import PinnedBatches


@dataclass(frozen=True)
class BatchForm:
    fields: list[tuple[str, str]]  # (name, kind) of each field
    arrays: dict[str, tuple[str, tuple[int, ...]]]  # dtype and shape of fields with uniform arrays
    from_tensor: Callable[[Tensor], Any]
    from_numpy: Callable[[Any], Any]
    pinned: PinnedBatches | None
    as_dict: bool
    return_index: bool
    return_sizes: bool
    as_list: bool  # whether the images of a batch are a list of tensors
    new_labels: bool
    label_vectors: bool

    @property
    def without_image(self) -> list[str]:
        """Names of the arrays that take the place of images in a batch, in the order of their tensors."""
        if "image" in dict(self.fields).values():
            return []
        vector = "label" if self.label_vectors else None
        return [name for name, _ in self.fields if name in self.arrays and name != vector]

    def __post_init__(self) -> None:
        more = {
            "index": self.return_index and "return_index",
            "size": self.return_sizes and "return_sizes",
        }
        for name, option in more.items():
            if self.as_dict and option and name in dict(self.fields):
                raise ValueError(
                    f"the data have a field {name!r}, which {option}=True would overwrite: leave out {option}, or "
                    "rename the field"
                )
