"""Descriptions of the tensors of a batch."""

from __future__ import annotations

import ctypes

from .errors import last_error
from .functions import OK
from .handles import BatchHandle
from .library import lib
from .structs import BatchInfo, TensorInfo


def tensor_infos(batch: BatchHandle, info: BatchInfo) -> list[TensorInfo]:
    """Returns the descriptions of all tensors of the batch."""
    infos = [TensorInfo() for _ in range(info.tensors)]
    for number, tensor in enumerate(infos):
        if lib.tundish_batch_tensor_info(batch, number, ctypes.byref(tensor)) != OK:
            raise last_error()
    return infos
