"""Where tensors are, asked of the engine: no line of Python runs per tensor. Each question has a twin in Python."""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint64, c_void_p, py_object
from operator import attrgetter, is_
from typing import Any

import torch

from ..._c.functions import OK
from ..._c.library import lib
from .torch_functions import PLAIN, TABLE

UNCHANGED, MOVED, DIFFERENT = range(3)

# PyDLL: the GIL is held during a call.
_library = ctypes.PyDLL(None, handle=lib._handle)
_gradient = attrgetter("grad")


def _function(name: str, *arguments: Any) -> Any:
    function = _library[name]
    function.restype, function.argtypes = c_int32, arguments
    return function


_know = _function("tundish_optimizer_know", c_void_p, c_void_p, py_object)
_find = _function("tundish_optimizer_find", c_void_p, c_void_p, py_object)
_bump = _function("tundish_optimizer_bump_versions", c_void_p, c_void_p)
_bump.restype = None
_gradients_are = _function("tundish_torch_gradients_are", c_void_p, py_object, py_object)
_values_are = _function("tundish_values_are", c_void_p, py_object, py_object)

_entries_are = _function("tundish_entries_are", c_void_p, py_object, c_void_p, c_uint64)


def are_plain(tensors: list[Any]) -> bool:
    """Whether the engine may look at them: it knows nothing of classes derived from torch's."""
    return all(type(one) in PLAIN for one in tensors)


def know(handle: Any, parameters: list[Any]) -> bool:
    """Of tensors that were bound in this order. The caller keeps the list, as it is now."""
    if TABLE is None or not are_plain(parameters):
        return False
    if any(map(torch.Tensor.is_inference, parameters)):  # they have no version: torch would throw
        return False
    return bool(_know(handle, TABLE, parameters) == OK)


def find_gradients(handle: Any, parameters: list[Any]) -> int:
    """After know(): UNCHANGED; MOVED, the gradients alone, which the next steps use; DIFFERENT: something else."""
    found: int = _find(handle, TABLE, parameters)
    return found if found >= 0 else DIFFERENT


def bump_versions(handle: Any) -> None:
    """After know(): autograd learns that the tensors were written."""
    _bump(handle, TABLE)


def gradients_are(parameters: list[Any], gradients: list[Any], plain: bool) -> bool:
    """Whether the gradients of `parameters` are these objects. `plain`: are_plain() of both."""
    if TABLE is not None and plain:
        return bool(_gradients_are(TABLE, parameters, gradients))
    return all(map(is_, map(_gradient, parameters), gradients))


def values_are(dictionary: dict[Any, Any], objects: list[Any]) -> bool:
    """Whether the values of a dictionary are these objects, in this order."""
    if TABLE is not None:
        return bool(_values_are(TABLE, dictionary, objects))
    return len(dictionary) == len(objects) and all(map(is_, dictionary.values(), objects))


class Entries:
    """The entries of dictionaries: keys, and tensors with the place of their memory. Other values may change."""

    def __init__(self, dicts: list[dict[str, Any]]) -> None:
        self._keys = [
            key for one in dicts for key in one
        ]  # kept alive: they are compared by number
        values = [value for one in dicts for value in one.values()]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._in_python = not (
            are_plain(tensors) and all(one.layout == torch.strided for one in tensors)
        )
        found = list(zip(self._keys, values))
        self._expected = [number for pair in found for number in self._numbers(*pair)]
        self._array = (c_uint64 * len(self._expected))(*self._expected)

    def _numbers(self, key: Any, value: Any) -> tuple[int, int, int]:
        """As KnownEntry of src/capi/torch_tensors.h has them."""
        if not isinstance(value, torch.Tensor):
            return id(key), 0, 0
        # Sparse ones have no address; the step count is read through its object.
        placed = key != "step" and value.layout == torch.strided
        return id(key), id(value), value.data_ptr() if placed else 0

    def are_those_of(self, dicts: list[dict[str, Any]]) -> bool:
        if TABLE is not None and not self._in_python:
            return bool(_entries_are(TABLE, dicts, self._array, len(self._keys)))
        found = (self._numbers(*pair) for one in dicts for pair in one.items())
        return [number for numbers in found for number in numbers] == self._expected
