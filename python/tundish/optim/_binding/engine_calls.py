"""Calls the C interface of optimizers. All other modules use this one."""

from __future__ import annotations

import ctypes
from typing import Any

from ..._c.errors import last_error
from ..._c.functions import OK
from ..._c.library import lib
from ..._c.structs import OptimizerGroup, OptimizerStepOptions, OptimizerTensor
from .tensor_probe import DIFFERENT, bump_versions, find_gradients, register_parameters

# Indexed by the first argument of tundish_optimizer_new().
KINDS = ("sgd", "adam", "adamw", "lion", "lars", "lamb", "novograd")
_FLOATS = ctypes.POINTER(ctypes.c_float)


def _float_at(tensor: Any) -> Any:
    return None if tensor is None else ctypes.cast(tensor.data_ptr(), _FLOATS)


class Engine:
    """An optimizer of the engine and the structs for its calls, kept between steps."""

    def __init__(self, kind: str, device: int, threads: int) -> None:
        self._handle = lib.tundish_optimizer_new(KINDS.index(kind), device, threads)
        if not self._handle:
            raise last_error()
        self._addresses: Any = None
        self._registered: list[Any] | None = None  # parameters that the engine reads itself
        self.groups: Any = None
        self.options = OptimizerStepOptions()

    def bind(self, tensors: list[OptimizerTensor], groups: int) -> None:
        """Binds tensors for the following steps. Copies the structs and allocates `self.groups`."""
        self._registered = None
        array = (OptimizerTensor * len(tensors))(*tensors)
        if lib.tundish_optimizer_bind(self._handle, array, len(tensors)) != OK:
            raise last_error()
        self._addresses = (ctypes.c_uint64 * len(tensors))()
        self.groups = (OptimizerGroup * groups)()
        self.options.groups = self.groups
        self.options.group_count = groups

    def register_parameters(self, parameters: list[Any]) -> None:
        """Registers the bound objects, in bound order, for find_gradients(). Keeps them alive."""
        self._registered = parameters if register_parameters(self._handle, parameters) else None

    def find_gradients(self, parameters: list[Any]) -> int:
        """Returns UNCHANGED, MOVED or DIFFERENT of tensor_probe.py."""
        return DIFFERENT if self._registered is None else find_gradients(self._handle, parameters)

    def bump_versions(self) -> None:
        """Increments autograd's version of parameters with a gradient. Call it after find_gradients()."""
        bump_versions(self._handle)

    def set_gradients(self, addresses: list[int]) -> None:
        """Sets the gradient addresses. 0 leaves a tensor out."""
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
