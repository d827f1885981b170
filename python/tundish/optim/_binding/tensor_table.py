"""The tensors that the engine has bound for an optimizer, in buckets of parameters that are updated alike."""

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

# A function that returns the names of the states of a group's parameters.
StateNames = Callable[[dict[str, Any]], tuple[str, ...]]


@dataclass
class Bucket:
    """Parameters of one group with equal step counts. Either all have a gradient or none has.

    The parameters share one tensor as state["step"], because incrementing 500 tensors would take longer than the step.
    """

    group: dict[str, Any]
    step: int
    active: bool
    names: tuple[str, ...] = ()  # names of the bound states
    count: Any = None  # the shared step tensor, if the optimizer counts steps
    first: dict[str, Any] = field(default_factory=dict)  # state of one of the parameters

    def has_current_count(self, on_gpu: bool) -> bool:
        """Returns whether the step count is unchanged since the last step. On a GPU, the value is not compared."""
        if not self.active or "step" not in self.first:
            return True
        return self.first["step"] is self.count and (on_gpu or self.count.item() == self.step)

    def steps_made(self, on_gpu: bool) -> int:
        """Returns the step count. On a GPU, waits for the tensor."""
        return int(self.count) if on_gpu else self.step


@dataclass
class FreshState:
    """A new state of a parameter. It holds zeros until the first step."""

    state: dict[str, Any]
    names: tuple[str, ...]
    bucket: Bucket


class BoundStates:
    """A snapshot of the bound states: their keys, and their tensors with addresses. Other values may change.

    Users may clear states, replace them, or move them to another device and back. The engine's addresses then point
    to freed or reused memory, and the tensors must be bound again before the step.

    The engine compares every entry. Because a new tensor may reuse the id of a freed one, weak references report
    tensors that were freed. The snapshot keeps no tensor alive.
    """

    def __init__(self, state: dict[Any, dict[str, Any]]) -> None:
        self._dicts = list(state.values())
        # The keys are kept alive, because they are compared by id.
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
    """Returns the fields of a BoundEntry (src/capi/torch_tensors.h): the ids of key and value, and the address."""
    if not isinstance(value, torch.Tensor):
        return id(key), 0, 0
    # Sparse tensors have no address. The step count is read through its Python object, not by address.
    has_address = key != "step" and value.layout == torch.strided
    return id(key), id(value), value.data_ptr() if has_address else 0


@dataclass
class Table:
    """What was bound. The bound addresses are valid as long as these facts hold."""

    groups: list[tuple[int, int]]  # shape_of() of the groups
    parameters: list[Any]
    layouts: list[Any]  # layout_of() of the parameters
    gradients: list[int]  # addresses of the gradients; 0 for none
    present: list[bool]  # whether each parameter has a gradient
    dtypes: list[Any]  # dtypes of the gradients
    complete: bool  # whether all parameters have a gradient
    contiguous: bool  # whether all parameters are contiguous
    on_gpu: bool = False
    buckets: list[Bucket] = field(default_factory=list)
    masters: list[tuple[Any, Any]] = field(default_factory=list)  # (parameter, its fp32 weights)
    versions: list[int] = field(
        default_factory=list
    )  # autograd versions of the parameters in `masters`, after the last step
    copies: list[Any] = field(
        default_factory=list
    )  # copies of gradients whose memory order differs from the parameter's
    states: BoundStates | None = None
    # States created by this binding, until a step has certainly run. If a GradScaler skips the first step, these
    # states are removed, because optimizers without step counts detect their first step by missing states.
    fresh: list[FreshState] = field(default_factory=list)

    def has_states(
        self, groups: list[dict[str, Any]], state: dict[Any, Any], names_of: StateNames
    ) -> bool:
        """Returns whether groups, states and step counts are unchanged since they were bound."""
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
        """Returns whether parameters and gradients match the bound ones. Gradient addresses may differ."""
        # Compare objects, not addresses, because an empty gradient has the address 0, like a missing one.
        present = [gradient is not None for gradient in gradients]
        dtypes = [None if gradient is None else gradient.dtype for gradient in gradients]
        return (
            all(map(is_, parameters, self.parameters))
            and list(map(layout_of, parameters)) == self.layouts
            and present == self.present
            and dtypes == self.dtypes
        )

    def drop_fresh(self) -> bool:
        """Removes states created for a step that was skipped. Returns whether the table must be rebuilt.

        On a GPU, waits for the step count, because only the GPU knows whether a step is skipped.
        """
        unused = [fresh for fresh in self.fresh if not fresh.bucket.steps_made(self.on_gpu)]
        for fresh in unused:
            for name in fresh.names:
                fresh.state.pop(name, None)
        self.fresh = []
        return bool(unused)


def shape_of(groups: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Returns the id and the length of each group. The buckets keep the groups alive, so ids are not reused."""
    return [(id(group), len(group["params"])) for group in groups]


def layout_of(parameter: Any) -> tuple[Any, ...]:
    return parameter.data_ptr(), parameter.dtype, parameter.shape, parameter.stride()


def rows_of(groups: list[dict[str, Any]]) -> Iterator[tuple[int, int, Any]]:
    """Yields (group number, position in the group, parameter) for every parameter."""
    for number, group in enumerate(groups):
        for place, parameter in enumerate(group["params"]):
            yield number, place, parameter


def fp32_like(parameter: Any, value: Any, name: str) -> Any:
    """Returns a state in the form that the engine needs: fp32, in the parameter's memory order."""
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
    """Returns the master weights and the average, by struct member. New ones are copies of the weights."""
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
    """Returns the C struct of one parameter. `states`: the optimizer's own states, at most two."""
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
    """Copies gradients whose memory order differs from the parameter's, and uses the addresses of the copies.

    Returns the gradients that were copied. `table` keeps the copies.
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
    """Updates the fp32 weights of parameters that were modified since the last step, as by loading a checkpoint."""
    if [parameter._version for parameter, _ in table.masters] == table.versions:
        return
    with torch.no_grad():
        for parameter, master in table.masters:
            written = master.to(parameter.dtype) != parameter
            master.copy_(torch.where(written, parameter.to(torch.float32), master))
