"""The C library, loaded once. ctypes.CDLL releases the GIL during a call."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_void_p

from .functions import ABI, FUNCTIONS
from .handles import Handle

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _load() -> ctypes.CDLL:
    path = os.path.join(_PACKAGE, "libtundish.so")
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
