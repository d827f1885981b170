"""Finds the functions of torch's libraries with which C++ code reads tensors. `TABLE` has their addresses, or is None.

Reading p.grad and data_ptr() of 500 parameters takes 100 us in Python and 15 us in C++. Tundish is built without
torch's headers, so that one library works with every torch version. Most functions belong to torch's stable C
interface; three have only C++ names. `TABLE` is None if a function is missing or gives wrong results for test tensors.
In that case, Python code reads every tensor.
"""

from __future__ import annotations

import ctypes
from ctypes import addressof, c_bool, c_int32, c_int64, c_void_p
from typing import Any

import torch

# The order is the order of TorchFunctions in src/capi/torch_tensors.h.
_PYTHON_FUNCTIONS = ("PyList_Size", "PyList_GetItem", "PyDict_Next")
_TORCH_FUNCTIONS = (
    "_ZNK3c1010TensorImpl4gradEv",  # const at::Tensor& c10::TensorImpl::grad() const
    "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE",
    "_ZN2at6native6is_negERKNS_6TensorE",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_layout",
    "aoti_torch_get_dim",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dtype",
    "aoti_torch_get_device_type",
    "aoti_torch_get_device_index",
)
_DTYPES = ("float32", "bfloat16", "float16")

PLAIN = (torch.nn.Parameter, torch.Tensor)  # classes whose objects C++ may read


def _zeros() -> Any:
    return torch.zeros(3, device="cpu")


def _place_in_object() -> int:
    """Returns the offset in bytes of the tensor pointer in a Python tensor object."""
    samples = [_zeros(), torch.nn.Parameter(_zeros())]
    for place in range(object.__basicsize__, torch.Tensor.__basicsize__, ctypes.sizeof(c_void_p)):
        found = [c_void_p.from_address(id(tensor) + place).value for tensor in samples]
        if found == [tensor._cdata for tensor in samples]:
            return place
    raise AttributeError("the tensor pointer in a Python tensor object")


class _Torch:
    """The functions as Python callables, to test them."""

    def __init__(self) -> None:
        library = ctypes.CDLL(torch._C.__file__)  # including its dependencies
        self.functions = [getattr(library, name) for name in _TORCH_FUNCTIONS]
        self.place = _place_in_object()
        self.strided = library.aoti_torch_layout_strided()
        self.dtypes = [getattr(library, f"aoti_torch_dtype_{name}")() for name in _DTYPES]
        grad, bump, is_negated = self.functions[:3]
        grad.restype, grad.argtypes = c_void_p, [c_void_p]
        bump.restype, bump.argtypes = None, [c_void_p]
        is_negated.restype, is_negated.argtypes = c_bool, [c_void_p]
        for get in self.functions[3:]:
            get.restype, get.argtypes = c_int32, [c_void_p, c_void_p]
        self.undefined = self.grad(_zeros())

    def grad(self, tensor: Any) -> int | None:
        """Returns the _cdata of the gradient."""
        return c_void_p.from_address(self.functions[0](tensor._cdata)).value

    def bump_version(self, tensor: Any) -> None:
        self.functions[1](id(tensor) + self.place)

    def is_negated(self, tensor: Any) -> bool:
        return bool(self.functions[2](id(tensor) + self.place))

    def get(self, what: str, tensor: Any, kind: Any) -> Any:
        out = kind()
        function = self.functions[_TORCH_FUNCTIONS.index(f"aoti_torch_get_{what}")]
        if function(id(tensor) + self.place, addressof(out)) != 0:
            raise ValueError(what)
        return out.value

    def is_right_about(self, tensor: Any, dtype: int) -> bool:
        sizes, strides = (
            (c_int64 * tensor.dim()).from_address(self.get(what, tensor, c_void_p) or 0)
            if tensor.dim()
            else ()
            for what in ("sizes", "strides")
        )
        return (
            self.get("data_ptr", tensor, c_void_p) == tensor.data_ptr()
            and self.get("layout", tensor, c_int32) == self.strided
            and self.get("dim", tensor, c_int64) == tensor.dim()
            and tuple(sizes) == tuple(tensor.shape)
            and tuple(strides) == tensor.stride()
            and self.get("dtype", tensor, c_int32) == dtype
            and self.get("device_type", tensor, c_int32) == 0
            and self.get("device_index", tensor, c_int32) == -1
        )

    def works(self) -> bool:
        """Returns whether the functions give the correct results for tensors with known properties."""
        for name, dtype in zip(_DTYPES, self.dtypes, strict=True):
            for shape in ((), (3,), (2, 5, 4)):
                data = torch.ones(shape, dtype=getattr(torch, name), device="cpu")
                parameter = torch.nn.Parameter(data.permute(tuple(range(data.dim())[::-1])))
                if self.grad(parameter) != self.undefined:
                    return False
                parameter.grad = torch.zeros_like(parameter)
                version = parameter._version
                self.bump_version(parameter)
                if not (
                    self.grad(parameter) == parameter.grad._cdata != self.undefined
                    and parameter._version == version + 1
                    and not self.is_negated(parameter)
                    and self.is_negated(torch._neg_view(data))
                    and self.is_right_about(parameter, dtype)
                    and self.is_right_about(parameter.grad, dtype)
                ):
                    return False
        return True


def _make_table() -> Any:
    try:
        with torch.inference_mode(False):
            found = _Torch()
            if not found.works():
                return None
    except (AttributeError, ValueError, OSError, RuntimeError):
        return None
    python = [getattr(ctypes.pythonapi, name) for name in _PYTHON_FUNCTIONS]
    places = [ctypes.cast(function, c_void_p).value for function in (*python, *found.functions)]
    values = [*places, found.undefined, found.place, found.strided, *found.dtypes]
    return (c_void_p * len(values))(*values)


_TABLE_MEMORY = _make_table()
TABLE: int | None = None if _TABLE_MEMORY is None else addressof(_TABLE_MEMORY)
