"""The bound tensors of an optimizer, in buckets of parameters that are updated alike."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from ctypes import c_uint64
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import torch

from ..._c.errors import ArgumentError
from ..._c.structs import OptimizerTensor
from .engine_calls import are_plain, entries_match, values_match
from .step_options import Options
from .tensor_checks import TYPES, check_gradient, check_parameter, name_of, same_order

# Returns the names of the states of a group's parameters.
StateNames = Callable[[dict[str, Any]], tuple[str, ...]]


@dataclass
class Bucket:
    """Parameters of one group with equal step counts, all with a gradient or all without.

    They share one tensor as state["step"]: incrementing 500 tensors would take longer than the step.
    """

    group: dict[str, Any]
    step: int
    active: bool
    names: tuple[str, ...] = ()  # of the bound states
    count: Any = None  # the step tensor, if the optimizer has one
    first: dict[str, Any] = field(default_factory=dict)  # state of one parameter

    def has_current_count(self, on_gpu: bool) -> bool:
        """Returns whether the step count is unchanged since the last step. A GPU reads the tensor itself."""
        if not self.active or "step" not in self.first:
            return True
        return self.first["step"] is self.count and (on_gpu or self.count.item() == self.step)

    def steps_made(self, on_gpu: bool) -> int:
        """Returns the step count. On a GPU, waits for the tensor."""
        return int(self.count) if on_gpu else self.step


@dataclass
class FreshState:
    """A parameter's state that holds zeros until the first step is made."""

    state: dict[str, Any]
    names: tuple[str, ...]
    bucket: Bucket


class BoundStates:
    """A snapshot of the bound states: keys, and tensors with their addresses. Other values may change.

    Users clear states, replace them, or move them to another device and back. Then the engine's addresses point to
    freed or foreign memory, and the step must rebind.

    The engine compares every entry. Weak references report tensors that died, because a new tensor may reuse their
    ids. No tensor is kept alive: users can free its memory.
    """

    def __init__(self, state: dict[Any, dict[str, Any]]) -> None:
        self._dicts = list(state.values())
        # Kept alive, because keys are compared by id.
        self._keys = [key for entries in self._dicts for key in entries]
        values = [value for entries in self._dicts for value in entries.values()]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._died: list[Any] = []
        self._references = [weakref.ref(tensor, self._died.append) for tensor in tensors]
        self._in_python = not (
            are_plain(tensors) and all(tensor.layout == torch.strided for tensor in tensors)
        )
        self._numbers = [number for pair in zip(self._keys, values) for number in _numbers(*pair)]
        self._entries = (c_uint64 * len(self._numbers))(*self._numbers)

    def are_current(self, state: dict[Any, dict[str, Any]]) -> bool:
        return not self._died and values_match(state, self._dicts) and self._entries_are_current()

    def _entries_are_current(self) -> bool:
        if not self._in_python:
            return entries_match(self._dicts, self._entries, len(self._keys))
        pairs = (pair for entries in self._dicts for pair in entries.items())
        return [number for pair in pairs for number in _numbers(*pair)] == self._numbers


def _numbers(key: Any, value: Any) -> tuple[int, int, int]:
    """Returns the ids in the order of BoundEntry in src/capi/torch_tensors.h."""
    if not isinstance(value, torch.Tensor):
        return id(key), 0, 0
    # Sparse tensors have no address. The step count is read through its object.
    has_address = key != "step" and value.layout == torch.strided
    return id(key), id(value), value.data_ptr() if has_address else 0


@dataclass
class Table:
    """The facts under which the bound addresses are valid."""

    groups: list[tuple[int, int]]  # shape_of() of the groups
    parameters: list[Any]
    layouts: list[Any]  # layout_of() of the parameters
    gradients: list[int]  # addresses; 0 for none
    present: list[bool]  # whether each has a gradient
    dtypes: list[Any]  # of the gradients
    complete: bool  # whether all have a gradient
    contiguous: bool  # whether all parameters are contiguous
    on_gpu: bool = False
    buckets: list[Bucket] = field(default_factory=list)
    masters: list[tuple[Any, Any]] = field(default_factory=list)  # (parameter, its fp32 weights)
    versions: list[int] = field(
        default_factory=list
    )  # of parameters in `masters`, after the last step
    copies: list[Any] = field(
        default_factory=list
    )  # copies of gradients whose memory order differs
    states: BoundStates | None = None
    # States made by this binding, until a step is known to be made. If a GradScaler skips the first step, they
    # are removed, because optimizers without step counts infer the first step from absent states.
    fresh: list[FreshState] = field(default_factory=list)

    def has_states(
        self, groups: list[dict[str, Any]], state: dict[Any, Any], names_of: StateNames
    ) -> bool:
        """Returns whether groups, states and step counts are those that were bound."""
        return (
            self.states is not None
            and self.states.are_current(state)
            and shape_of(groups) == self.groups
            and all(
                bucket.has_current_count(self.on_gpu)
                and (not bucket.active or bucket.names == names_of(bucket.group))
                for bucket in self.buckets
            )
        )

    def fits(self, parameters: list[Any], gradients: list[Any]) -> bool:
        """Returns whether parameters and gradients differ from the bound ones at most by gradient addresses."""
        # Compare objects, not addresses: an empty gradient has the address 0, like a missing one.
        present = [gradient is not None for gradient in gradients]
        dtypes = [None if gradient is None else gradient.dtype for gradient in gradients]
        return (
            all(map(is_, parameters, self.parameters))
            and list(map(layout_of, parameters)) == self.layouts
            and present == self.present
            and dtypes == self.dtypes
        )

    def drop_fresh(self) -> bool:
        """Removes fresh states of skipped steps. Returns whether the table must be rebuilt.

        On a GPU, waits for the step count, because only the GPU knows whether a step is skipped.
        """
        unused = [fresh for fresh in self.fresh if not fresh.bucket.steps_made(self.on_gpu)]
        for fresh in unused:
            for name in fresh.names:
                fresh.state.pop(name, None)
        self.fresh = []
        return bool(unused)


def shape_of(groups: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Returns id and length of each group. The buckets keep the groups alive, so that ids are not reused."""
    return [(id(group), len(group["params"])) for group in groups]


def layout_of(parameter: Any) -> tuple[Any, ...]:
    return parameter.data_ptr(), parameter.dtype, parameter.shape, parameter.stride()


def rows_of(groups: list[dict[str, Any]]) -> Iterator[tuple[int, int, Any]]:
    """Yields (number of the group, position in the group, parameter)."""
    for number, group in enumerate(groups):
        for place, parameter in enumerate(group["params"]):
            yield number, place, parameter


def fp32_like(parameter: Any, value: Any, name: str) -> Any:
    """Returns a state as the engine needs it: fp32, in the parameter's memory order."""
    if value.shape != parameter.shape:
        raise ArgumentError(
            f"the state of {name} has the shape {tuple(value.shape)}, the parameter "
            f"{tuple(parameter.shape)}: it is the state of another model"
        )
    good = value.dtype == torch.float32 and value.device == parameter.device
    if good and value.stride() == parameter.stride():
        return value
    return torch.empty_like(parameter, dtype=torch.float32).copy_(value)


def check_rows(groups: list[dict[str, Any]]) -> None:
    device = None
    for group, place, parameter in rows_of(groups):
        name = name_of(groups, group, place)
        device = device or parameter.device
        check_parameter(parameter, device, name)
        if parameter.grad is not None:
            check_gradient(parameter.grad, parameter, name)


def extra_states(
    parameter: Any, state: dict[str, Any], options: Options, name: str
) -> dict[str, Any]:
    """Returns master weights and average by struct member. Missing ones start as the weights."""
    out: dict[str, Any] = {}
    if options.master_weights and parameter.dtype != torch.float32:
        out["master"] = "master"
    if options.ema_decay > 0:
        out["average"] = "ema"
    for member, key in out.items():
        value = state.get(key)
        if value is None:
            value = torch.empty_like(parameter, dtype=torch.float32)
            value.copy_(out["master"] if member == "average" and "master" in out else parameter)
        state[key] = out[member] = fp32_like(parameter, value, name)
    return out


def tensor_of(
    parameter: Any, states: list[Any], extra: dict[str, Any], group: int
) -> OptimizerTensor:
    """Returns the struct of one parameter. `states`: the optimizer's own states, at most two."""
    gradient = parameter.grad
    out = OptimizerTensor(
        parameter=parameter.data_ptr(),
        gradient=gradient.data_ptr() if gradient is not None else None,
        count=parameter.numel(),
        parameter_type=TYPES[parameter.dtype],
        gradient_type=TYPES[gradient.dtype] if gradient is not None else 0,
        copy_type=1,
        group=group,
    )
    for i, state in enumerate(states):
        out.state[i] = state.data_ptr()
    for member, tensor in extra.items():
        setattr(out, member, tensor.data_ptr())
    return out


def copy_reordered(
    parameters: list[Any], gradients: list[Any], addresses: list[int], table: Table | None
) -> list[Any]:
    """Copies gradients whose memory order differs from the parameter's, and replaces their addresses.

    Returns those gradients. `table` keeps the copies.
    """
    if table is None:
        return []
    given = gradients if table.complete else [grad for grad in gradients if grad is not None]
    negated = any(map(torch.Tensor.is_neg, given))
    if table.contiguous and not negated and all(map(torch.Tensor.is_contiguous, given)):
        return []
    moved = []
    table.copies = []
    for i, (parameter, gradient) in enumerate(zip(parameters, gradients)):
        if gradient is None or same_order(gradient, parameter):
            continue
        copy = torch.empty_like(parameter, dtype=gradient.dtype).copy_(gradient)
        addresses[i] = copy.data_ptr()
        table.copies.append(copy)
        moved.append(gradient)
    return moved


def refresh_masters(table: Table) -> None:
    """Updates fp32 weights of parameters written since the last step, such as by a loaded checkpoint."""
    if [parameter._version for parameter, _ in table.masters] == table.versions:
        return
    with torch.no_grad():
        for parameter, master in table.masters:
            written = master.to(parameter.dtype) != parameter
            master.copy_(torch.where(written, parameter.to(torch.float32), master))
