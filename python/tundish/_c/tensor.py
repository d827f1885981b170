"""Passes tensors of the engine to torch (through DLPack) or to NumPy."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

from .errors import last_error
from .handles import TensorHandle
from .library import lib

_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # NumPy's kinds by DLPack's type codes, without bfloat16
_destructor = ctypes.cast(lib.tundish_capsule_destructor, c_void_p)


class DLManagedTensorVersioned(ctypes.Structure):
    """The struct DLManagedTensorVersioned in dlpack.h: a tensor with its owner."""

    _fields_ = [
        ("version", c_uint32 * 2),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("data", c_void_p),
        ("device", c_int32 * 2),
        ("ndim", c_int32),
        ("type_code", c_uint8),
        ("type_bits", c_uint8),
        ("type_lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),  # in elements
        ("byte_offset", c_uint64),
    ]


class Tensor:
    """A tensor of the C library. torch takes ownership of it through DLPack; NumPy shares its memory."""

    def __init__(self, handle: TensorHandle) -> None:
        if not handle:
            raise last_error()
        self._handle = handle  # empty once torch has taken the tensor

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> Any:
        pointer, self._handle.value = self._handle.value, None
        if max_version is not None and max_version[0] >= 1:
            return _new_capsule(pointer, b"dltensor_versioned", _destructor)
        pointer = lib.tundish_tensor_unversioned(pointer)  # for consumers such as torch before 2.9
        if not pointer:
            raise last_error()
        return _new_capsule(pointer, b"dltensor", _destructor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    # NumPy's own protocol. NumPy's from_dlpack returns read-only arrays before version 2.2.
    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self._handle.value:
            raise BufferError("the tensor was already taken")
        tensor = DLManagedTensorVersioned.from_address(self._handle.value)
        item = tensor.type_bits // 8
        return {
            "version": 3,
            "typestr": f"{'|' if item == 1 else '<'}{_KINDS[tensor.type_code]}{item}",
            "data": (tensor.data or 0, False),
            "shape": tuple(tensor.shape[: tensor.ndim]),
            "strides": tuple(item * stride for stride in tensor.strides[: tensor.ndim]),
        }
