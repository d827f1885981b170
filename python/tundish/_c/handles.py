"""Handles: what the engine made and Python owns."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any


class Handle(c_void_p):
    """Owns what a library call created, from the moment the call returns.

    Ctrl-C may raise before the next line of Python has run; the object is freed in that case, too.
    A call keeps the handles that it was given, so nothing that another thread uses is freed.
    """

    free_name = ""
    free_function: Any = None  # kept here: a handle may outlive this module when Python ends

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
