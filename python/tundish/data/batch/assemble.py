"""Assembles a batch of the library for the loop: a tuple of tensors, or a dict of all fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._c.errors import new_error
from ..._c.handles import BatchHandle
from ..._c.library import lib
from ..._c.structs import TensorInfo
from ..._c.tensor import Tensor
from . import batch_fields as fields
from .pinned import PinnedBatches


def tensor_index(name: str, infos: list[TensorInfo]) -> int:
    return [info.name.decode() for info in infos].index(name)


@dataclass(frozen=True)
class Assembler:
    fields: list[tuple[str, str]]  # name and kind
    arrays: dict[str, tuple[str, tuple[int, ...]]]  # fields of equal arrays: dtype and shape
    from_tensor: Callable[[Tensor], Any]
    from_numpy: Callable[[Any], Any]
    pinned: PinnedBatches | None
    as_dict: bool
    return_index: bool
    return_sizes: bool
    as_list: bool  # whether images are a list
    new_labels: bool
    label_vectors: bool

    @property
    def without_image(self) -> list[str]:
        """The arrays that replace images in a batch, in the order of their tensors."""
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

    def __call__(self, batch: BatchHandle, infos: list[TensorInfo], on_gpu: Any = None) -> Any:
        """Assembles a batch. `on_gpu`: the tensors of the batch if they are on a GPU."""
        tensors = Tensors(batch, infos, self, on_gpu)
        instead = self.without_image
        if not self.as_dict and len(instead) < 2:
            first = tensors.named("array_0") if instead else tensors.images()
            out = [first, tensors.named("labels")]
            if self.return_index:
                out.append(tensors.named("samples"))
            if self.return_sizes:
                out.append(tensors.named("sizes"))
            return tuple(out)
        by_field: dict[str, Any] = {}
        for number, (name, kind) in enumerate(self.fields):
            if kind == "image":
                by_field[name] = tensors.images()
            elif name in instead:
                by_field[name] = tensors.named(f"array_{instead.index(name)}")
            elif kind == "label" or (self.label_vectors and name == "label"):
                by_field[name] = tensors.named("labels")
            else:
                by_field[name] = self._field(batch, infos, number)
        stored = "label" in [kind for _, kind in self.fields] or self.label_vectors
        if self.new_labels and not stored:
            by_field["label"] = tensors.named("labels")
        if self.return_index:
            by_field["index"] = tensors.named("samples")
        if self.return_sizes:
            by_field["size"] = tensors.named("sizes")
        return by_field

    def _field(self, batch: BatchHandle, infos: list[TensorInfo], number: int) -> Any:
        import numpy as np

        name, kind = self.fields[number]
        which = tensor_index("samples", infos)
        raw = fields.read_field(batch, infos[which].sizes[0], number)
        try:
            if name in self.arrays:
                return fields.stack_arrays(raw, *self.arrays[name], self.from_numpy)
            return fields.decode_field(kind, raw, self.from_numpy)
        except (ValueError, OSError, EOFError) as error:
            samples = np.asarray(Tensor(lib.tundish_batch_tensor(batch, which)))
            raise new_error(
                405,
                f"TND-405 the field {name!r} of one of the samples {samples.tolist()} cannot be "
                f"loaded\n  why: {error}\n  fix: repair the data, or leave out as_dict",
                of_sample=True,
            ) from error


class Tensors:
    """The tensors of one batch by name, created on demand."""

    def __init__(
        self, batch: BatchHandle, infos: list[TensorInfo], made_by: Assembler, on_gpu: Any
    ) -> None:
        self._batch = batch
        self._infos = infos
        self._made_by = made_by
        self._on_gpu = on_gpu

    def images(self) -> Any:
        """Returns one tensor, or a list of tensors with views or images_as="list"."""
        if self._made_by.as_list:
            return [self._tensor(n) for n, info in enumerate(self._infos) if info.name == b"image"]
        if self._infos[0].name == b"images":
            return self._tensor(0)
        views = [n for n, info in enumerate(self._infos) if info.name.startswith(b"images_")]
        return [self._tensor(number) for number in views]

    def named(self, name: str) -> Any:
        return self._tensor(tensor_index(name, self._infos))

    def _tensor(self, number: int) -> Any:
        if self._on_gpu is not None:
            return self._on_gpu[number]
        info, pinned = self._infos[number], self._made_by.pinned
        if pinned is not None and info.name.startswith((b"images", b"array_")):
            return pinned.images(info)
        return self._made_by.from_tensor(Tensor(lib.tundish_batch_tensor(self._batch, number)))
