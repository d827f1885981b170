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

ABI = 1
OK, AGAIN, END, ERROR = range(4)

# Kinds of transforms.
RANDOM_RESIZED_CROP, RESIZE, CENTER_CROP, RANDOM_CROP = range(4)
RANDOM_HORIZONTAL_FLIP, RANDOM_VERTICAL_FLIP, NORMALIZE, TO_DTYPE = range(4, 8)

# Values of dtype, filter and pad_mode.
DTYPES = {"uint8": 0, "float32": 1, "float16": 2, "bfloat16": 3}
FILTERS = {"nearest": 0, "bilinear": 1, "bicubic": 2}
PAD_MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3}


class TransformStruct(ctypes.Structure):
    """tundish_transform"""

    _fields_ = [
        ("kind", c_int32),
        ("width", c_int32),
        ("height", c_int32),
        ("max_size", c_int32),
        ("filter", c_int32),
        ("padding", c_int32 * 4),
        ("pad_if_needed", c_int32),
        ("pad_mode", c_int32),
        ("fill", c_int32 * 3),
        ("dtype", c_int32),
        ("scale_values", c_int32),
        ("reserved", c_int32),
        ("scale", c_double * 2),
        ("ratio", c_double * 2),
        ("probability", c_double),
        ("mean", c_double * 3),
        ("std", c_double * 3),
    ]


class OrderStruct(ctypes.Structure):
    """tundish_order"""

    _fields_ = [
        ("sampling", c_int32),
        ("repeats", c_uint32),
        ("draws", c_uint64),
        ("samples", POINTER(c_uint64)),
        ("sample_count", c_uint64),
        ("weights", POINTER(c_double)),
        ("weight_count", c_uint64),
        ("group_sizes", POINTER(c_uint64)),
        ("group_count", c_uint64),
    ]


class LoaderOptions(ctypes.Structure):
    """tundish_loader_options"""

    _fields_ = [
        ("struct_bytes", c_uint32),
        ("batch_size", c_uint32),
        ("seed", c_uint64),
        ("rank", c_uint32),
        ("world_size", c_uint32),
        ("shuffle", c_int32),
        ("uneven", c_int32),
        ("on_error", c_int32),
        ("channels_first", c_int32),
        ("exif_orientation", c_int32),
        ("all_fields", c_int32),
        ("threads", c_int32),
        ("prefetch", c_int32),
        ("pinned", c_int32),
        ("replay", c_int32),
        ("transforms", POINTER(TransformStruct)),
        ("transform_count", c_uint64),
        ("labels", POINTER(c_int64)),
        ("label_count", c_uint64),
        ("order", POINTER(OrderStruct)),
        ("max_bad", POINTER(c_double)),
        ("trace", c_char_p),
        ("memory", c_uint64),
        ("lent_batches", c_uint64),
        ("cache", c_int32),
        ("for_gpu", c_int32),
    ]


class LoaderStats(ctypes.Structure):
    """tundish_loader_stats"""

    _fields_ = [
        ("batches", c_uint64),
        ("samples", c_uint64),
        ("replaced", c_uint64),
        ("skipped", c_uint64),
        ("bytes", c_uint64),
        ("read_ns", c_uint64),
        ("decode_ns", c_uint64),
        ("wait_ns", c_uint64),
        ("slots", c_uint64),
        ("ready", c_uint64),
        ("threads", c_uint64),
        ("augment_ns", c_uint64),
        ("elapsed_ns", c_uint64),
        ("bad", c_uint64),
        ("wait_p50_ns", c_uint64),
        ("wait_p99_ns", c_uint64),
        ("window_read_ns", c_uint64),
        ("window_decode_ns", c_uint64),
        ("window_augment_ns", c_uint64),
        ("window_wait_ns", c_uint64),
        ("window_elapsed_ns", c_uint64),
        ("memory", c_uint64),
        ("memory_used", c_uint64),
        ("cache", c_uint64),
        ("cache_hits", c_uint64),
        ("cache_misses", c_uint64),
        ("cache_bytes", c_uint64),
        ("cache_needed", c_uint64),
        ("cache_room", c_uint64),
        ("zeros", c_uint64),
    ]


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
        ("decoded_there", c_uint64),
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
    "tundish_source_join": (SourceHandle, [POINTER(c_void_p), c_uint64]),
    "tundish_source_open_staged": (SourceHandle, [c_char_p, c_int32]),
    "tundish_source_close": (None, [c_void_p]),
    "tundish_source_count": (c_uint64, [c_void_p]),
    "tundish_source_describe": (c_char_p, [c_void_p]),
    "tundish_source_labels": (c_int32, [c_void_p, POINTER(c_int64)]),
    "tundish_loader_new": (LoaderHandle, [c_void_p, POINTER(LoaderOptions)]),
    "tundish_loader_end": (c_uint32, [c_void_p]),
    "tundish_loader_free": (None, [c_void_p]),
    "tundish_loader_start": (c_int32, [c_void_p, c_uint64, c_uint64]),
    "tundish_loader_lend": (c_int32, [c_void_p, c_void_p, c_uint64]),
    "tundish_loader_next": (c_int32, [c_void_p, c_uint32, POINTER(c_void_p)]),
    "tundish_loader_steps": (c_uint64, [c_void_p, c_uint64]),
    "tundish_loader_positions": (c_uint64, [c_void_p]),
    "tundish_loader_order": (c_char_p, [c_void_p]),
    "tundish_loader_recipe": (c_char_p, [c_void_p]),
    "tundish_loader_fingerprint": (c_char_p, [c_void_p]),
    "tundish_loader_get_stats": (None, [c_void_p, POINTER(LoaderStats)]),
    "tundish_loader_new_window": (None, [c_void_p]),
    "tundish_loader_bad_samples": (c_char_p, [c_void_p]),
    "tundish_loader_hanging": (c_char_p, [c_void_p, c_uint32]),
    "tundish_loader_write_trace": (c_int32, [c_void_p]),
    "tundish_loader_decode_there": (c_int32, [c_void_p, c_int32]),
    "tundish_resident_new": (ResidentHandle, [c_void_p, c_int32]),
    "tundish_resident_load": (c_int32, [c_void_p, c_uint64]),
    "tundish_resident_bytes": (c_uint64, [c_void_p]),
    "tundish_resident_loaded": (c_uint64, [c_void_p]),
    "tundish_resident_free": (None, [c_void_p]),
    "tundish_device_new": (DeviceHandle, [c_void_p, c_int32, c_void_p, c_void_p]),
    "tundish_device_dtype": (c_int32, [c_void_p]),
    "tundish_device_finish": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "tundish_device_look_back": (c_int32, [c_void_p, POINTER(Refused)]),
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
