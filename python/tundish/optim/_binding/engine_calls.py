"""Calls the C interface of the optimizers. No other module calls it.

The functions that inspect tensors run in C++, so that no Python code runs per tensor. Each has a fallback in Python.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_uint64, c_void_p, py_object
from operator import attrgetter, is_
from typing import Any

import torch

from ..._c.errors import ArgumentError, last_error
from ..._c.functions import OK
from ..._c.library import lib
from ..._c.structs import OptimizerGroup, OptimizerStepOptions, OptimizerTensor
from .torch_functions import PLAIN, TABLE

# Indexed by the first argument of tundish_optimizer_new().
KINDS = ("sgd", "adam", "adamw", "lion", "lars", "lamb", "novograd")
UNCHANGED, MOVED, DIFFERENT = range(3)

# PyDLL: the GIL is held during a call.
_library = ctypes.PyDLL(None, handle=lib._handle)
_FLOATS = ctypes.POINTER(ctypes.c_float)
_gradient = attrgetter("grad")


def _function(name: str, *arguments: Any) -> Any:
    function = _library[name]
    function.restype, function.argtypes = c_int32, arguments
    return function


_register = _function("tundish_optimizer_register", c_void_p, c_void_p, py_object)
_find = _function("tundish_optimizer_find", c_void_p, c_void_p, py_object)
_bump = _function("tundish_optimizer_bump_versions", c_void_p, c_void_p)
_bump.restype = None
_gradients_match = _function("tundish_gradients_match", c_void_p, py_object, py_object)
_values_match = _function("tundish_values_match", c_void_p, py_object, py_object)

_entries_match = _function("tundish_entries_match", c_void_p, py_object, c_void_p, c_uint64)


def are_plain(tensors: list[Any]) -> bool:
    """Returns whether the engine can read the tensors. It does not support subclasses of torch's classes."""
    return TABLE is not None and all(type(tensor) in PLAIN for tensor in tensors)


def gradients_match(parameters: list[Any], gradients: list[Any], plain: bool) -> bool:
    """Returns whether the gradients of `parameters` are these objects. `plain` is are_plain() of both lists."""
    if TABLE is not None and plain:
        return bool(_gradients_match(TABLE, parameters, gradients))
    return all(map(is_, map(_gradient, parameters), gradients))


def values_match(dictionary: dict[Any, Any], objects: list[Any]) -> bool:
    """Returns whether the values of a dictionary are these objects, in this order."""
    if TABLE is not None:
        return bool(_values_match(TABLE, dictionary, objects))
    return len(dictionary) == len(objects) and all(map(is_, dictionary.values(), objects))


def entries_match(dicts: list[dict[str, Any]], entries: Any, count: int) -> bool:
    """Returns whether the dictionaries have these entries. `entries` is an array of BoundEntry in C."""
    return bool(_entries_match(TABLE, dicts, entries, count))


def is_on_gpu(rate: Any) -> bool:
    return isinstance(rate, torch.Tensor) and rate.is_cuda


def rate_of(group: dict[str, Any]) -> float:
    """Returns the learning rate, or 0 if it is a tensor on a GPU, because the GPU then reads the tensor."""
    rate = group["lr"]
    return 0.0 if is_on_gpu(rate) else float(rate)


def rate_address(group: dict[str, Any]) -> int | None:
    """Returns the address of a learning rate on a GPU, or None if the learning rate is on the host."""
    rate = group["lr"]
    if not is_on_gpu(rate):
        return None
    if rate.dtype != torch.float32 or rate.numel() != 1:
        raise ArgumentError(
            f"the learning rate is a tensor of {rate.numel()} {str(rate.dtype).removeprefix('torch.')}\n"
            "  fix: use one float32: torch.tensor(0.1, device=...)"
        )
    return int(rate.data_ptr())


def _float_at(tensor: Any) -> Any:
    return None if tensor is None else ctypes.cast(tensor.data_ptr(), _FLOATS)


class NativeOptimizer:
    """Owns an optimizer of the engine, and the structs for its calls, which are kept between steps."""

    def __init__(self, kind: str, device: int, threads: int) -> None:
        self._handle = lib.tundish_optimizer_new(KINDS.index(kind), device, threads)
        if not self._handle:
            raise last_error()
        self._addresses: Any = None
        self._registered: list[Any] | None = None  # parameters that the engine reads on its own
        self.groups: Any = None
        self.options = OptimizerStepOptions()

    def bind(self, tensors: list[OptimizerTensor], groups: int) -> None:
        """Sets the tensors for the following steps. Copies the structs and allocates `self.groups`."""
        self._registered = None
        array = (OptimizerTensor * len(tensors))(*tensors)
        if lib.tundish_optimizer_bind(self._handle, array, len(tensors)) != OK:
            raise last_error()
        self._addresses = (ctypes.c_uint64 * len(tensors))()
        self.groups = (OptimizerGroup * groups)()
        self.options.groups = self.groups
        self.options.group_count = groups

    def register_parameters(self, parameters: list[Any]) -> None:
        """Registers the bound parameters, in the order of bind(), for find_gradients(). The list must not change."""
        self._registered = None
        if not are_plain(parameters) or any(map(torch.Tensor.is_inference, parameters)):
            return  # torch would raise for inference tensors, because they have no version
        if _register(self._handle, TABLE, parameters) == OK:
            self._registered = parameters

    def find_gradients(self, parameters: list[Any]) -> int:
        """Finds the gradients of the registered parameters.

        Returns UNCHANGED; MOVED if only addresses changed, which the engine adopts; otherwise DIFFERENT.
        """
        if self._registered is None:
            return DIFFERENT
        found: int = _find(self._handle, TABLE, parameters)
        return found if found >= 0 else DIFFERENT

    def bump_versions(self) -> None:
        """Tells autograd that the registered parameters with gradients were modified. Call find_gradients() first."""
        _bump(self._handle, TABLE)

    def set_gradients(self, addresses: list[int]) -> None:
        """Sets the gradient addresses. The step skips a tensor with address 0."""
        self._addresses[:] = addresses
        if lib.tundish_optimizer_gradients(self._handle, self._addresses, len(addresses)) != OK:
            raise last_error()

    def step(self, scale: Any, found_inf: Any, norm_out: Any) -> bool:
        """Runs a step with `self.groups` and `self.options`. Returns False if the update was skipped."""
        options = self.options
        options.scale = _float_at(scale)
        options.found_inf = _float_at(found_inf)
        options.norm_out = _float_at(norm_out)
        if lib.tundish_optimizer_step(self._handle, ctypes.byref(options)) != OK:
            raise last_error()
        return not options.skipped
