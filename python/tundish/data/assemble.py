"""A batch of the library as what the loop gets: a tuple of tensors, or a dict of all fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._c.errors import new_error
from .._c.handles import BatchHandle
from .._c.library import lib
from .._c.structs import BatchInfo
from .._c.tensor import Tensor
from . import fields
from .pinned import PinnedBatches

IMAGES, LABELS, SAMPLES = range(3)  # tensors of a batch


@dataclass(frozen=True)
class Assembler:
    fields: list[tuple[str, str]]  # name and kind
    from_tensor: Callable[[Tensor], Any]
    from_numpy: Callable[[Any], Any]
    pinned: PinnedBatches | None
    as_dict: bool
    return_index: bool
    new_labels: bool

    def __post_init__(self) -> None:
        if self.as_dict and self.return_index and "index" in dict(self.fields):
            raise ValueError(
                "the data have a field 'index', which return_index=True would hide: leave it out, or "
                "rename the field"
            )

    def __call__(self, batch: BatchHandle, info: BatchInfo, on_gpu: list[Any] | None = None) -> Any:
        """`on_gpu`: the tensors of the batch, when they are on a GPU."""

        def tensor(which: int) -> Any:
            if on_gpu is not None:
                return on_gpu[which]
            if which == IMAGES and self.pinned is not None:
                return self.pinned.images(info)
            return self.from_tensor(Tensor(lib.tundish_batch_tensor(batch, which)))

        if not self.as_dict:
            return tuple(tensor(which) for which in range(3 if self.return_index else 2))
        out: dict[str, Any] = {}
        for number, (name, kind) in enumerate(self.fields):
            if kind == "image":
                out[name] = tensor(IMAGES)
            elif kind == "label":
                out[name] = tensor(LABELS)
            else:
                out[name] = self._field(batch, info, number)
        if self.new_labels and "label" not in [kind for _, kind in self.fields]:
            out["label"] = tensor(LABELS)
        if self.return_index:
            out["index"] = tensor(SAMPLES)
        return out

    def _field(self, batch: BatchHandle, info: BatchInfo, number: int) -> Any:
        import numpy as np

        name, kind = self.fields[number]
        raw = fields.of_batch(batch, info.count, number)
        try:
            return fields.decode(kind, raw, self.from_numpy)
        except (ValueError, OSError, EOFError) as error:
            samples = np.asarray(Tensor(lib.tundish_batch_tensor(batch, SAMPLES)))
            raise new_error(
                405,
                f"TND-405 the field {name!r} of one of the samples {samples.tolist()} cannot be "
                f"loaded\n  why: {error}\n  fix: correct the data, or leave out as_dict",
                of_sample=True,
            ) from error
