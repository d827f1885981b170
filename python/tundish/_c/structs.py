"""The structs of include/tundish.h, which Python and the engine exchange. A test compares both definitions."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

# Indexed by tundish_tensor_info.dtype.
DTYPES = (
    *(
        "uint8",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "uint16",
        "bool",
        "int8",
        "int16",
        "int32",
    ),
    *("uint32", "uint64", "float64"),
)


class LoaderLists(ctypes.Structure):
    """tundish_loader_lists"""

    _fields_ = [
        ("labels", POINTER(c_int64)),
        ("label_count", c_uint64),
        ("label_vectors", POINTER(c_float)),
        ("label_vector_count", c_uint64),
        ("label_width", c_uint64),
        ("samples", POINTER(c_uint64)),
        ("sample_count", c_uint64),
        ("weights", POINTER(c_double)),
        ("weight_count", c_uint64),
        ("group_sizes", POINTER(c_uint64)),
        ("group_count", c_uint64),
        ("trace", c_char_p),
    ]

    def put(self, name: str, length: str, array: Any) -> None:
        """Sets a list to a NumPy array of the matching type, and keeps the array alive as long as the struct."""
        kind: Any = {"f8": c_double, "f4": c_float, "u8": c_uint64, "i8": c_int64}[
            array.dtype.str[1:]
        ]
        self.__dict__[name + "_kept"] = array  # the struct itself only stores the address
        setattr(self, name, array.ctypes.data_as(POINTER(kind)))
        setattr(self, length, len(array))


class Draw(ctypes.Structure):
    """tundish_draw"""

    _fields_ = [
        ("width", c_uint64),
        ("height", c_uint64),
        ("seed", c_uint64),
        ("epoch", c_uint64),
        ("sample", c_uint64),
        ("repeat", c_uint64),
        ("view", c_uint64),
        ("crop", c_uint64),
    ]


class RefusedSample(ctypes.Structure):
    """tundish_refused"""

    _fields_ = [
        ("sample", c_int64),
        ("epoch", c_uint64),
        ("position", c_uint64),
        ("unit_x", c_int32),
        ("unit_y", c_int32),
        ("wanted", c_int32),
        ("pending", c_int32),
    ]


class BatchInfo(ctypes.Structure):
    """tundish_batch_info"""

    _fields_ = [
        ("epoch", c_uint64),
        ("next_position", c_uint64),
        ("count", c_uint64),
        ("gpu_decoded", c_uint64),
        ("tensors", c_int32),
        ("gpu_decodes", c_int32),
    ]


class TensorInfo(ctypes.Structure):
    """tundish_tensor_info"""

    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("dimensions", c_int32),
        ("shape", c_int64 * 8),
        ("strides", c_int64 * 8),
        ("lent", c_int32),
    ]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.shape[: self.dimensions])

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides of the tensor, in elements."""
        return tuple(self.strides[: self.dimensions])


class OptimizerTensor(ctypes.Structure):
    """tundish_optimizer_tensor"""

    _fields_ = [
        ("parameter", c_void_p),
        ("gradient", c_void_p),
        ("state", c_void_p * 2),
        ("master", c_void_p),
        ("average", c_void_p),
        ("copy", c_void_p),
        ("tensor_state", c_void_p),
        ("count", c_uint64),
        ("parameter_type", c_int32),
        ("gradient_type", c_int32),
        ("copy_type", c_int32),
        ("group", c_uint32),
    ]


class OptimizerGroup(ctypes.Structure):
    """tundish_optimizer_group"""

    _fields_ = [
        ("lr", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("eps", c_double),
        ("weight_decay", c_double),
        ("momentum", c_double),
        ("dampening", c_double),
        ("trust_coefficient", c_double),
        ("step", c_int64),
        ("nesterov", c_int32),
        ("maximize", c_int32),
        ("decoupled", c_int32),
        ("always_adapt", c_int32),
        ("trust_clip", c_int32),
        ("grad_averaging", c_int32),
        ("bias_correction", c_int32),
        ("reg_inside_moment", c_int32),
        ("init_zero", c_int32),
        ("reserved", c_int32),
        ("lr_at", c_void_p),
        ("step_at", c_void_p),
    ]


class OptimizerStepOptions(ctypes.Structure):
    """tundish_optimizer_step_options"""

    _fields_ = [
        ("groups", POINTER(OptimizerGroup)),
        ("group_count", c_uint64),
        ("scale", POINTER(c_float)),
        ("max_norm", c_double),
        ("norm_out", POINTER(c_float)),
        ("found_inf", POINTER(c_float)),
        ("ema_decay", c_double),
        ("seed", c_uint64),
        ("stream", c_void_p),
        ("check_finite", c_int32),
        ("clear_gradients", c_int32),
        ("stochastic_rounding", c_int32),
        ("skipped", c_int32),
    ]
