"""Where gradients are, asked of the engine: no line of Python runs per tensor."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_void_p, py_object
from typing import Any

import torch

from .._c.library import lib

UNCHANGED, MOVED, DIFFERENT = range(3)

_GRAD = sys.intern("grad")


def _functions() -> Any:
    """As the function below wants them."""
    python = ctypes.pythonapi
    called = (
        python.PyList_Size,
        python.PyList_GetItem,
        python.PyObject_GetAttr,
        python.Py_DecRef,
        python.PyErr_Clear,
    )
    places = [ctypes.cast(one, c_void_p).value for one in called]
    return (c_void_p * 7)(*places, id(None), id(_GRAD))


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
