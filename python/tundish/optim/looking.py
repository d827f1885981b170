"""Where gradients are, asked of the engine: no line of Python runs per tensor."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_void_p, py_object
from typing import Any

import torch

from .._c.library import lib
from .._c.structs import PythonFunctions

UNCHANGED, MOVED, DIFFERENT = range(3)

_GRAD = sys.intern("grad")


def _functions() -> PythonFunctions:
    python, address = ctypes.pythonapi, ctypes.cast
    return PythonFunctions(
        list_size=address(python.PyList_Size, c_void_p),
        list_item=address(python.PyList_GetItem, c_void_p),
        get_attribute=address(python.PyObject_GetAttr, c_void_p),
        release=address(python.Py_DecRef, c_void_p),
        clear_error=address(python.PyErr_Clear, c_void_p),
        none=id(None),
        grad=id(_GRAD),
    )


def _exchange_table() -> int | None:
    """DLPack's functions for torch's tensors; torch has them since 2.10."""
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    prototype = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)
    get = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    return int(get(capsule, b"dlpack_exchange_api"))


# PyDLL: the GIL is held during a call.
_find = ctypes.PyDLL(None, handle=lib._handle).tundish_optimizer_find_gradients
_find.argtypes = [c_void_p, c_void_p, c_void_p, py_object]
_FUNCTIONS = _functions()
_PLACE = ctypes.addressof(_FUNCTIONS)
EXCHANGE = _exchange_table()


def find_gradients(handle: Any, parameters: list[Any]) -> int:
    """Where `parameters` were bound in this order: UNCHANGED; MOVED, the gradients alone, which the next steps
    use; DIFFERENT: something else, or it cannot be told."""
    if EXCHANGE is None:
        return DIFFERENT
    found = int(_find(handle, _PLACE, EXCHANGE, parameters))
    return found if found >= 0 else DIFFERENT
