"""The tensors of a batch of the library, as it describes them."""

from __future__ import annotations

import ctypes

from .handles import BatchHandle
from .library import lib
from .structs import BatchInfo, TensorInfo


def tensor_infos(batch: BatchHandle, info: BatchInfo) -> list[TensorInfo]:
    """Of all tensors of the batch."""
    infos = [TensorInfo() for _ in range(info.tensors)]
    for number, one in enumerate(infos):
        lib.tundish_batch_tensor_info(batch, number, ctypes.byref(one))
    return infos
