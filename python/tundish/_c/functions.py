"""The functions of include/tundish.h with their types. A test compares the two."""

from __future__ import annotations

from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

from .handles import (
    DeviceHandle,
    LoaderHandle,
    OpeningHandle,
    ResidentHandle,
    SourceHandle,
    TensorHandle,
)
from .structs import BatchInfo, Draw, LoaderLists, Refused, TensorInfo

ABI = 3
OK, AGAIN, END, ERROR = range(4)

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
    "tundish_source_label_vector": (c_int32, [c_void_p, c_uint64, POINTER(c_float)]),
    "tundish_reference": (c_char_p, []),
    "tundish_plan": (c_char_p, [c_char_p, POINTER(Draw)]),
    "tundish_transform": (c_int32, [c_char_p, POINTER(Draw), c_void_p, c_void_p, c_uint64]),
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
    "tundish_loader_new_window": (None, [c_void_p]),
    "tundish_loader_bad_samples": (c_char_p, [c_void_p]),
    "tundish_loader_hanging": (c_char_p, [c_void_p, c_uint32]),
    "tundish_loader_write_trace": (c_int32, [c_void_p]),
    "tundish_resident_new": (ResidentHandle, [c_void_p, c_int32]),
    "tundish_resident_load": (c_int32, [c_void_p, c_uint64]),
    "tundish_resident_bytes": (c_uint64, [c_void_p]),
    "tundish_resident_loaded": (c_uint64, [c_void_p]),
    "tundish_resident_free": (None, [c_void_p]),
    "tundish_device_new": (DeviceHandle, [c_void_p, c_int32, c_void_p, c_void_p]),
    "tundish_device_enqueue": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "tundish_device_lead": (c_uint32, []),
    "tundish_device_handed_over": (c_char_p, [c_void_p, c_int32, c_void_p]),
    "tundish_device_decoding": (c_int32, [c_void_p]),
    "tundish_device_poll_completed": (c_int32, [c_void_p, POINTER(Refused)]),
    "tundish_loader_enter_refused": (c_int32, [c_void_p, POINTER(Refused)]),
    "tundish_device_forget": (None, [c_void_p]),
    "tundish_device_free": (None, [c_void_p]),
    "tundish_batch_get_info": (None, [c_void_p, POINTER(BatchInfo)]),
    "tundish_batch_tensor_info": (None, [c_void_p, c_int32, POINTER(TensorInfo)]),
    "tundish_batch_tensor": (TensorHandle, [c_void_p, c_int32]),
    "tundish_batch_field": (
        c_int32,
        [c_void_p, c_uint64, c_uint32, POINTER(c_void_p), POINTER(c_uint64)],
    ),
    "tundish_batch_plans": (c_char_p, [c_void_p, c_void_p]),
    "tundish_batch_free": (None, [c_void_p]),
    "tundish_source_image": (TensorHandle, [c_void_p, c_uint64, c_int32, c_char_p]),
    "tundish_tensor_free": (None, [c_void_p]),
    "tundish_tensor_unversioned": (c_void_p, [c_void_p]),
    "tundish_capsule_functions": (None, [c_void_p, c_void_p]),
    "tundish_capsule_destructor": (None, [c_void_p]),
}
