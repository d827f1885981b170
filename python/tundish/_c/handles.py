"""Handles: Python owners of objects that the C library created."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any


class Handle(c_void_p):
    """Owns an object that a library call created, from the moment the call returns.

    The object is freed even if Ctrl-C raises an exception before the next line of Python runs. A call keeps
    references to its handles, so an object is never freed while another thread uses it.
    """

    free_name = ""
    free_function: Any = None  # stored, because a handle may outlive this module at exit

    def free(self) -> None:
        value, self.value = self.value, None
        if value:
            self.free_function(value)

    def __del__(self) -> None:
        self.free()


class SourceHandle(Handle):
    free_name = "tundish_source_close"


class OpeningHandle(Handle):
    free_name = "tundish_opening_free"


class LoaderHandle(Handle):
    free_name = "tundish_loader_free"


class BatchHandle(Handle):
    free_name = "tundish_batch_free"


class ResidentHandle(Handle):
    free_name = "tundish_resident_free"


class DeviceHandle(Handle):
    free_name = "tundish_device_free"


class OptimizerHandle(Handle):
    free_name = "tundish_optimizer_free"


class TensorHandle(Handle):
    free_name = "tundish_tensor_free"
