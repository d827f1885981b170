"""The next batch on its way from the engine to the training loop.

The batch stays here until it is delivered. An exception before that, such as Ctrl-C, therefore loses no batch: the
next call returns it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..._c.batch_tensors import tensor_infos
from ..._c.errors import new_error
from ..._c.handles import BatchHandle
from ..._c.library import lib
from ..._c.structs import BatchInfo, TensorInfo
from ..._c.tensor import Tensor
from . import batch_fields as fields
from .batch_form import BatchForm

TensorOf = Callable[[int], Any]  # returns a tensor of the batch by its number


def tensor_index(name: str, infos: list[TensorInfo]) -> int:
    return [info.name.decode() for info in infos].index(name)


class PendingBatch:
    """Takes a batch from the engine and assembles it for the training loop."""

    def __init__(self, form: BatchForm, decoding: str | None = "cpu") -> None:
        self.form = form
        self._decoding = decoding
        self.batch = BatchHandle()  # empty, or the engine's batch
        self.info = BatchInfo()  # describes the current batch
        self._tensors: list[TensorInfo] = []  # describe the tensors of the current batch
        self.out: Any = None  # the assembled batch
        self.delivered: Any = None  # only used for batches on a GPU
        self.on_batch: Callable[[BatchHandle], None] | None = None  # only used by replay

    @property
    def decoding(self) -> str | None:
        """Where images are decoded: "cpu" or "gpu"; None while that is undecided."""
        return self._decoding

    def is_ready(self) -> bool:
        return self.out is not None or bool(self.batch)

    def finish_epoch(self) -> bool:
        return False

    def stats(self, reset: bool) -> dict[str, float]:
        """Returns zeros on the CPU. pending_gpu_batches.py computes the statistics for a GPU."""
        return {"data/gpu_wait_s": 0.0, "data/gpu_wait_share": 0.0, "data/gpu_decoded": 0}

    def take_error(self) -> Exception | None:
        return None  # the engine reports an error with its next batch

    def assemble(self) -> None:
        """Assembles the batch, unless another thread has taken it. Every step can be interrupted and repeated."""
        if self.out is None and self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
            try:
                self.out = self._assembled(self._tensors, self._host_tensor)
            except Exception:  # a retry would raise it again; Ctrl-C is not an Exception
                self.drop()
                raise
        self._release()

    def drop(self) -> None:
        if self.batch:
            lib.tundish_batch_get_info(self.batch, ctypes.byref(self.info))
            self._tensors = tensor_infos(self.batch, self.info)
        self._release()
        self.out = None

    def _release(self) -> None:
        if self.batch and self.form.pinned is not None:
            self.form.pinned.release(self._tensors)
        self.batch.free()

    # --- assembling -------------------------------------------------------------------------------

    def _assembled(self, infos: list[TensorInfo], tensor_of: TensorOf) -> Any:
        """Returns the batch in the loader's form. Requests only the tensors that it contains."""
        if self.on_batch is not None:
            self.on_batch(self.batch)
        form = self.form
        instead = form.without_image

        def named(name: str) -> Any:
            return tensor_of(tensor_index(name, infos))

        if not form.as_dict and len(instead) < 2:
            first = named("array_0") if instead else self._images(infos, tensor_of)
            out = [first, named("labels")]
            if form.return_index:
                out.append(named("samples"))
            if form.return_sizes:
                out.append(named("sizes"))
            return tuple(out)
        by_field: dict[str, Any] = {}
        for number, (name, kind) in enumerate(form.fields):
            if kind == "image":
                by_field[name] = self._images(infos, tensor_of)
            elif name in instead:
                by_field[name] = named(f"array_{instead.index(name)}")
            elif kind == "label" or (form.label_vectors and name == "label"):
                by_field[name] = named("labels")
            else:
                by_field[name] = self._field(infos, number)
        stored = "label" in [kind for _, kind in form.fields] or form.label_vectors
        if form.new_labels and not stored:
            by_field["label"] = named("labels")
        if form.return_index:
            by_field["index"] = named("samples")
        if form.return_sizes:
            by_field["size"] = named("sizes")
        return by_field

    def _images(self, infos: list[TensorInfo], tensor_of: TensorOf) -> Any:
        """Returns one tensor, or a list of tensors with views or images_as="list"."""
        if self.form.as_list:
            return [tensor_of(n) for n, info in enumerate(infos) if info.name == b"image"]
        if infos[0].name == b"images":
            return tensor_of(0)
        views = [n for n, info in enumerate(infos) if info.name.startswith(b"images_")]
        return [tensor_of(number) for number in views]

    def _host_tensor(self, number: int) -> Any:
        info, pinned = self._tensors[number], self.form.pinned
        if pinned is not None and info.name.startswith((b"images", b"array_")):
            return pinned.images(info)
        return self.form.from_tensor(Tensor(lib.tundish_batch_tensor(self.batch, number)))

    def _field(self, infos: list[TensorInfo], number: int) -> Any:
        import numpy as np

        form = self.form
        name, kind = form.fields[number]
        which = tensor_index("samples", infos)
        raw = fields.read_field(self.batch, infos[which].sizes[0], number)
        try:
            if name in form.arrays:
                return fields.stack_arrays(raw, *form.arrays[name], form.from_numpy)
            return fields.decode_field(kind, raw, form.from_numpy)
        except (ValueError, OSError, EOFError) as error:
            samples = np.asarray(Tensor(lib.tundish_batch_tensor(self.batch, which)))
            raise new_error(
                405,
                f"TND-405 the field {name!r} of one of the samples {samples.tolist()} cannot be "
                f"loaded\n  why: {error}\n  fix: repair the data, or leave out as_dict",
                of_sample=True,
            ) from error
