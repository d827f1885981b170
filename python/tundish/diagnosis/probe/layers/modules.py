"""Assigns numbers and names to the modules of the user's model, and records their calls."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass, field
from typing import Any

from .autograd_nodes import tensors_in
from .layer_facts import Convolution

# Classes that wrap the user's model. Module names omit these wrappers.
WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel")
_WRAPPER_ATTRIBUTES = ("_fsdp_wrapped_module", "_checkpoint_wrapped_module")
MOST_BRANCHES = 16


@dataclass
class Module:
    """A module and its calls in one step. All values exclude the module's children."""

    name: str
    type: str
    parameters: int
    conv: Convolution | None
    order: int = -1  # position in the order of first calls; -1 if the module is never called
    calls: int = 0
    shape_in: list[int] = field(default_factory=list)
    shape_out: list[int] = field(default_factory=list)
    layout_in: str = ""
    layout_out: str = ""
    branches: list[str] = field(default_factory=list)  # modules called with the same input
    inputs: dict[int, tuple[Any, list[str]]] = field(
        default_factory=dict
    )  # inputs of the current call


class Modules:
    def __init__(self) -> None:
        self.all: list[Module] = []
        self._numbers: dict[int, int] = {}  # module numbers by id()
        self._kept: list[Any] = []  # references to the modules, so that no id is reused
        self._calls = 0
        self._callers: list[int] = []

    def add_root(self, root: Any) -> None:
        """Adds all modules of a model. Modules that are already known keep their number and name."""
        if id(root) in self._numbers:
            return
        self._kept.append(root)
        prefix = f"({type(root).__name__})" if self.all else ""
        while type(root).__name__ in WRAPPERS and hasattr(root, "module"):
            self._add(root, f"({type(root).__name__})")
            root = root.module
        for name, module in root.named_modules():
            parts = [part for part in name.split(".") if part and part not in _WRAPPER_ATTRIBUTES]
            self._add(module, ".".join([prefix, *parts] if prefix else parts))

    def _add(self, module: Any, name: str) -> None:
        if id(module) in self._numbers:
            return
        self._numbers[id(module)] = len(self.all)
        count = sum(p.numel() for p in module.parameters(recurse=False))
        self.all.append(Module(name, type(module).__name__, count, _conv(module)))

    def module_number(self, module: Any) -> int | None:
        return self._numbers.get(id(module))

    def entered(self, number: int, args: Any) -> None:
        """Records the beginning of a call. Used only in the step that counts operations."""
        called = self.all[number]
        if called.order < 0:
            called.order = self._calls
        self._calls += 1
        called.calls += 1
        first = next(tensors_in(args), None)
        if first is not None:
            called.shape_in, called.layout_in = list(first.shape), layout(first)
            if self._callers:
                self._note_branch(self.all[self._callers[-1]], called.name, first)
        called.inputs = {}
        self._callers.append(number)

    def _note_branch(self, caller: Module, name: str, tensor: Any) -> None:
        known, names = caller.inputs.get(id(tensor), (lambda: None, []))
        if known() is not tensor:
            names = []
        if name not in names and len(names) < MOST_BRANCHES:
            names.append(name)
        caller.inputs[id(tensor)] = (weakref.ref(tensor), names)
        if len(names) > len(caller.branches):
            caller.branches = names

    def left(self, number: int, output: Any) -> None:
        called = self.all[number]
        if number in self._callers:
            del self._callers[self._callers.index(number) :]
        called.inputs = {}
        first = next(tensors_in(output), None)
        if first is not None:
            called.shape_out, called.layout_out = list(first.shape), layout(first)


def layout(tensor: Any) -> str:
    """Returns the memory layout of an image tensor; "" for other tensors.

    The layout is "NCHW", "NHWC", "both" (if the strides fit both layouts) or "other".
    """
    torch = sys.modules["torch"]
    if tensor.dim() != 4 or tensor.layout != torch.strided:
        return ""
    plain = tensor.is_contiguous()
    last = tensor.is_contiguous(memory_format=torch.channels_last)
    if plain and last:
        return "both"
    return "NCHW" if plain else "NHWC" if last else "other"


def _conv(module: Any) -> Convolution | None:
    names = ("in_channels", "out_channels", "groups", "kernel_size", "stride")
    if not all(hasattr(module, name) for name in names):
        return None
    values = {name: getattr(module, name) for name in names}
    if not all(isinstance(values[name], int) for name in names[:3]):
        return None
    for name in names[3:]:
        value = values[name]
        values[name] = [int(n) for n in value] if isinstance(value, list | tuple) else [int(value)]
    weight = getattr(module, "weight", None)
    return Convolution(**values, weight_layout="" if weight is None else layout(weight))
