"""The C library, declared once: the Python side of include/tundish.h.

CDLL releases the GIL during a call. A test compares this file with the header.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

ABI = 2
OK, AGAIN, END, ERROR = range(4)

DTYPES = ("uint8", "float32", "float16", "bfloat16")  # by the numbers of tundish_batch_info.dtype


class LoaderLists(ctypes.Structure):
    """tundish_loader_lists"""

    _fields_ = [
        ("labels", POINTER(c_int64)),
        ("label_count", c_uint64),
        ("samples", POINTER(c_uint64)),
        ("sample_count", c_uint64),
        ("weights", POINTER(c_double)),
        ("weight_count", c_uint64),
        ("group_sizes", POINTER(c_uint64)),
        ("group_count", c_uint64),
        ("trace", c_char_p),
    ]

    def put(self, name: str, length: str, array: Any) -> None:
        """A NumPy array of the list's own type; it is kept as long as the struct."""
        kind: Any = {"f": c_double, "u": c_uint64, "i": c_int64}[array.dtype.kind]
        self.__dict__[name + "_kept"] = array  # a struct keeps the address, not the array
        setattr(self, name, array.ctypes.data_as(POINTER(kind)))
        setattr(self, length, len(array))


class Refused(ctypes.Structure):
    """tundish_refused"""

    _fields_ = [
        ("sample", c_int64),
        ("epoch", c_uint64),
        ("position", c_uint64),
        ("unit_x", c_int32),
        ("unit_y", c_int32),
        ("wanted", c_int32),
        ("there", c_int32),
    ]


class BatchInfo(ctypes.Structure):
    """tundish_batch_info"""

    _fields_ = [
        ("epoch", c_uint64),
        ("next_position", c_uint64),
        ("count", c_uint64),
        ("gpu_decoded", c_uint64),
        ("width", c_uint64),
        ("height", c_uint64),
        ("pixels", c_void_p),
        ("dtype", c_int32),
        ("channels_first", c_int32),
        ("lent", c_int32),
        ("coded", c_int32),
    ]


class Handle(c_void_p):
    """Owns what a call of the library made, from the moment on at which the call returns.

    Ctrl-C may raise before the next line of Python has run; what was made is then freed all the same.
    A call that is given a handle keeps it: what another thread works with is not freed.
    """

    free_name = ""
    free_function: Any = None  # kept here: a handle may outlive this module when Python ends

    def free(self) -> None:
        value, self.value = self.value, None
        if value:
            self.free_function(value)

    def __del__(self) -> None:
        self.free()


class SourceHandle(Handle):
    free_name = "tundish_source_close"


class OpeningHandle(Handle):
    free_name = "tundish_opening_free"


class LoaderHandle(Handle):
    free_name = "tundish_loader_free"


class BatchHandle(Handle):
    free_name = "tundish_batch_free"


class ResidentHandle(Handle):
    free_name = "tundish_resident_free"


class DeviceHandle(Handle):
    free_name = "tundish_device_free"


class TensorHandle(Handle):
    free_name = "tundish_tensor_free"


# name: (result, arguments)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "tundish_abi": (c_uint32, []),
    "tundish_version": (c_char_p, []),
    "tundish_last_error": (c_char_p, []),
    "tundish_last_error_code": (c_int32, []),
    "tundish_last_error_of_sample": (c_int32, []),
    "tundish_usable_cpus": (c_uint32, []),
    "tundish_memory_left": (c_uint64, []),
    "tundish_can_pin": (c_int32, []),
    "tundish_source_open": (SourceHandle, [c_char_p]),
    "tundish_opening_new": (OpeningHandle, [c_char_p]),
    "tundish_opening_wait": (c_int32, [c_void_p, c_uint32, POINTER(c_void_p)]),
    "tundish_opening_free": (None, [c_void_p]),
    "tundish_source_join": (SourceHandle, [POINTER(c_void_p), c_uint64]),
    "tundish_source_open_copy": (SourceHandle, [c_char_p, c_int32]),
    "tundish_source_close": (None, [c_void_p]),
    "tundish_source_count": (c_uint64, [c_void_p]),
    "tundish_source_describe": (c_char_p, [c_void_p]),
    "tundish_source_labels": (c_int32, [c_void_p, POINTER(c_int64)]),
    "tundish_reference": (c_char_p, []),
    "tundish_loader_new": (LoaderHandle, [c_void_p, c_char_p, POINTER(LoaderLists)]),
    "tundish_loader_end": (c_uint32, [c_void_p]),
    "tundish_loader_free": (None, [c_void_p]),
    "tundish_loader_start": (c_int32, [c_void_p, c_uint64, c_uint64]),
    "tundish_loader_lend": (c_int32, [c_void_p, c_void_p, c_uint64]),
    "tundish_loader_next": (c_int32, [c_void_p, c_uint32, POINTER(c_void_p)]),
    "tundish_loader_steps": (c_uint64, [c_void_p, c_uint64]),
    "tundish_loader_describe": (c_char_p, [c_void_p]),
    "tundish_loader_state": (c_char_p, [c_void_p, c_uint64, c_uint64]),
    "tundish_loader_read_state": (
        c_int32,
        [c_void_p, c_char_p, POINTER(c_uint64), POINTER(c_uint64)],
    ),
    "tundish_loader_stats": (c_char_p, [c_void_p]),
    "tundish_loader_bad_positions": (c_uint64, [c_void_p]),
    "tundish_loader_ready_batches": (c_uint64, [c_void_p]),
    "tundish_loader_new_window": (None, [c_void_p]),
    "tundish_loader_bad_samples": (c_char_p, [c_void_p]),
    "tundish_loader_hanging": (c_char_p, [c_void_p, c_uint32]),
    "tundish_loader_write_trace": (c_int32, [c_void_p]),
    "tundish_loader_decode_on_gpu": (c_int32, [c_void_p, c_int32]),
    "tundish_resident_new": (ResidentHandle, [c_void_p, c_int32]),
    "tundish_resident_load": (c_int32, [c_void_p, c_uint64]),
    "tundish_resident_bytes": (c_uint64, [c_void_p]),
    "tundish_resident_loaded": (c_uint64, [c_void_p]),
    "tundish_resident_free": (None, [c_void_p]),
    "tundish_device_new": (DeviceHandle, [c_void_p, c_int32, c_void_p, c_void_p]),
    "tundish_device_dtype": (c_int32, [c_void_p]),
    "tundish_device_finish": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "tundish_device_poll_completed": (c_int32, [c_void_p, POINTER(Refused)]),
    "tundish_loader_enter_refused": (c_int32, [c_void_p, POINTER(Refused)]),
    "tundish_device_forget": (None, [c_void_p]),
    "tundish_device_free": (None, [c_void_p]),
    "tundish_batch_get_info": (None, [c_void_p, POINTER(BatchInfo)]),
    "tundish_batch_tensor": (TensorHandle, [c_void_p, c_int32]),
    "tundish_batch_field": (
        c_int32,
        [c_void_p, c_uint64, c_uint32, POINTER(c_void_p), POINTER(c_uint64)],
    ),
    "tundish_batch_plans": (c_char_p, [c_void_p, c_void_p]),
    "tundish_batch_free": (None, [c_void_p]),
    "tundish_source_image": (TensorHandle, [c_void_p, c_uint64, c_int32]),
    "tundish_tensor_free": (None, [c_void_p]),
    "tundish_tensor_unversioned": (c_void_p, [c_void_p]),
    "tundish_capsule_functions": (None, [c_void_p, c_void_p]),
    "tundish_capsule_destructor": (None, [c_void_p]),
}


class Error(RuntimeError):
    """Something is wrong with the data or the machine; `code` is like "TND-203"."""

    code: str = ""


class SampleError(Error):
    """One sample is bad; the loader can go on."""


class ArgumentError(Error, ValueError):
    """An argument makes no sense."""


class MissingError(Error, FileNotFoundError):
    """A file or folder does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


def _load() -> ctypes.CDLL:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtundish.so")
    if not os.path.exists(path):
        raise ImportError(f"{path} is missing: run ./dev build, or install the wheel")
    library = ctypes.CDLL(path)
    if library.tundish_abi() != ABI or not all(hasattr(library, name) for name in FUNCTIONS):
        raise ImportError(
            f"{path} belongs to another version of tundish: run ./dev build, or install it again"
        )
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    for kind in Handle.__subclasses__():
        kind.free_function = getattr(library, kind.free_name)
    address = ctypes.cast
    python = ctypes.pythonapi
    library.tundish_capsule_functions(
        address(python.PyCapsule_IsValid, c_void_p), address(python.PyCapsule_GetPointer, c_void_p)
    )
    return library


lib = _load()


def version() -> str:
    return str(lib.tundish_version().decode())


class _MissingSampleError(SampleError, MissingError):
    """The file of one sample does not exist any more."""


def last_error() -> Error:
    """The error of the call that just failed on this thread."""
    text = lib.tundish_last_error().decode("utf-8", "backslashreplace")
    return new_error(lib.tundish_last_error_code(), text, bool(lib.tundish_last_error_of_sample()))


def new_error(number: int, text: str, of_sample: bool = False) -> Error:
    kind: type[Error] = SampleError if of_sample else Error
    if number == 301:
        kind = _MissingSampleError if of_sample else MissingError
    elif 600 <= number < 700 and number != 605:  # too many bad samples
        kind = ArgumentError
    error = kind(text)
    error.code = f"TND-{number:03d}"
    return error


_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_destructor = ctypes.cast(lib.tundish_capsule_destructor, c_void_p)


class DLManagedTensorVersioned(ctypes.Structure):
    """As in dlpack.h, which calls it a tensor with its owner."""

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
    """A tensor of the library on its way to torch by DLPack, which takes it over, or to NumPy."""

    def __init__(self, handle: TensorHandle) -> None:
        if not handle:
            raise last_error()
        self._handle = handle  # empty once it was taken

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: Any) -> Any:
        pointer, self._handle.value = self._handle.value, None
        if max_version is not None and max_version[0] >= 1:
            return _new_capsule(pointer, b"dltensor_versioned", _destructor)
        pointer = lib.tundish_tensor_unversioned(pointer)  # for torch before 2.9, say
        if not pointer:
            raise last_error()
        return _new_capsule(pointer, b"dltensor", _destructor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    # NumPy's own road: from_dlpack gives read-only arrays before 2.2, and nothing before 2.1.
    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self._handle.value:
            raise BufferError("the tensor was taken already")
        tensor = DLManagedTensorVersioned.from_address(self._handle.value)
        item = tensor.type_bits // 8
        return {
            "version": 3,
            "typestr": f"{'|' if item == 1 else '<'}{'iuf'[tensor.type_code]}{item}",
            "data": (tensor.data or 0, False),
            "shape": tuple(tensor.shape[: tensor.ndim]),
            "strides": tuple(item * stride for stride in tensor.strides[: tensor.ndim]),
        }
