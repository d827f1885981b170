"""Probes tensors in C++, so that no line of Python runs per tensor. Each probe has a Python fallback."""

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


_register = _function("tundish_optimizer_know", c_void_p, c_void_p, py_object)
_find = _function("tundish_optimizer_find", c_void_p, c_void_p, py_object)
_bump = _function("tundish_optimizer_bump_versions", c_void_p, c_void_p)
_bump.restype = None
_gradients_match = _function("tundish_torch_gradients_are", c_void_p, py_object, py_object)
_values_are = _function("tundish_values_are", c_void_p, py_object, py_object)

_entries_are = _function("tundish_entries_are", c_void_p, py_object, c_void_p, c_uint64)


def are_plain(tensors: list[Any]) -> bool:
    """Returns whether the engine can read the tensors: it does not support subclasses of torch's classes."""
    return all(type(tensor) in PLAIN for tensor in tensors)


def register_parameters(handle: Any, parameters: list[Any]) -> bool:
    """Registers bound tensors, in bound order. The caller must keep the list unchanged."""
    if TABLE is None or not are_plain(parameters):
        return False
    if any(
        map(torch.Tensor.is_inference, parameters)
    ):  # inference tensors have no version: torch would raise
        return False
    return bool(_register(handle, TABLE, parameters) == OK)


def find_gradients(handle: Any, parameters: list[Any]) -> int:
    """Finds gradients after register_parameters().

    Returns UNCHANGED; MOVED if only gradients moved, which the next steps use; DIFFERENT otherwise.
    """
    found: int = _find(handle, TABLE, parameters)
    return found if found >= 0 else DIFFERENT


def bump_versions(handle: Any) -> None:
    """Tells autograd that registered tensors were written."""
    _bump(handle, TABLE)


def gradients_are(parameters: list[Any], gradients: list[Any], plain: bool) -> bool:
    """Returns whether the gradients of `parameters` are these objects. `plain`: are_plain() of both."""
    if TABLE is not None and plain:
        return bool(_gradients_match(TABLE, parameters, gradients))
    return all(map(is_, map(_gradient, parameters), gradients))


def values_are(dictionary: dict[Any, Any], objects: list[Any]) -> bool:
    """Returns whether the values of a dictionary are these objects, in this order."""
    if TABLE is not None:
        return bool(_values_are(TABLE, dictionary, objects))
    return len(dictionary) == len(objects) and all(map(is_, dictionary.values(), objects))


class Entries:
    """A snapshot of dictionaries: keys, and tensors with their addresses. Other values may change."""

    def __init__(self, dicts: list[dict[str, Any]]) -> None:
        # Kept alive, because keys are compared by id.
        self._keys = [key for entries in dicts for key in entries]
        values = [value for entries in dicts for value in entries.values()]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._in_python = not (
            are_plain(tensors) and all(tensor.layout == torch.strided for tensor in tensors)
        )
        found = list(zip(self._keys, values))
        self._expected = [number for pair in found for number in self._numbers(*pair)]
        self._array = (c_uint64 * len(self._expected))(*self._expected)

    def _numbers(self, key: Any, value: Any) -> tuple[int, int, int]:
        """Returns the ids in the order of KnownEntry in src/capi/torch_tensors.h."""
        if not isinstance(value, torch.Tensor):
            return id(key), 0, 0
        # Sparse tensors have no address. The step count is read through its object.
        placed = key != "step" and value.layout == torch.strided
        return id(key), id(value), value.data_ptr() if placed else 0

    def matches(self, dicts: list[dict[str, Any]]) -> bool:
        """Returns whether the dictionaries still have the same entries."""
        if TABLE is not None and not self._in_python:
            return bool(_entries_are(TABLE, dicts, self._array, len(self._keys)))
        found = (self._numbers(*pair) for entries in dicts for pair in entries.items())
        return [number for numbers in found for number in numbers] == self._expected
