"""The tensors of an optimiser as they were bound, and parameters that are updated alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..._c.errors import ArgumentError
from ..._c.structs import OptimizerTensor
from .bound_states import BoundStates
from .step_options import Options
from .tensor_checks import TYPES, check_gradient, check_parameter, name_of, same_order


@dataclass
class Bucket:
    """Parameters of one group that made the same number of steps and all have a gradient, or none.

    They share one tensor as state["step"]: counting 500 tensors would take longer than the step.
    """

    group: dict[str, Any]
    step: int
    active: bool
    names: tuple[str, ...] = ()  # of the states that were bound
    count: Any = None  # the tensor, where the optimiser has one
    first: dict[str, Any] = field(default_factory=dict)  # state of one of the parameters

    def is_counted_right(self, on_gpu: bool) -> bool:
        """False: somebody else wrote the step count. A GPU reads the tensor itself."""
        if not self.active or "step" not in self.first:
            return True
        return self.first["step"] is self.count and (on_gpu or self.count.item() == self.step)


@dataclass
class Table:
    """What must stay as it is for the bound addresses to be right."""

    groups: list[tuple[int, int]]  # shape_of() the groups
    parameters: list[Any]
    layouts: list[Any]  # layout_of() the parameters
    gradients: list[int]  # addresses, 0 for none
    present: list[bool]  # has a gradient
    dtypes: list[Any]  # of the gradients
    complete: bool  # all have a gradient
    contiguous: bool  # all parameters
    on_gpu: bool = False
    buckets: list[Bucket] = field(default_factory=list)
    masters: list[tuple[Any, Any]] = field(default_factory=list)  # (parameter, its weights in fp32)
    versions: list[int] = field(default_factory=list)  # of such parameters, after the last step
    copies: list[Any] = field(default_factory=list)  # of gradients in another order
    states: BoundStates | None = None
    # States that this binding made, with their names, until a step was made: a first step that a
    # GradScaler skips is none, and only a state that is absent says so where no steps are counted.
    fresh: list[tuple[dict[str, Any], tuple[str, ...]]] = field(default_factory=list)

    def drop_fresh(self) -> bool:
        """After a step that was skipped. True: the table has to be made again."""
        for state, names in self.fresh:
            for name in names:
                state.pop(name, None)
        return bool(self.fresh)


def shape_of(groups: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Which groups there are, and how many parameters each has. The buckets keep these groups alive."""
    return [(id(group), len(group["params"])) for group in groups]


def layout_of(parameter: Any) -> tuple[Any, ...]:
    return parameter.data_ptr(), parameter.dtype, parameter.shape, parameter.stride()


def rows_of(groups: list[dict[str, Any]]) -> Iterator[tuple[int, int, Any]]:
    """(number of the group, place in it, parameter)"""
    for number, group in enumerate(groups):
        for place, parameter in enumerate(group["params"]):
            yield number, place, parameter


def fp32_like(parameter: Any, value: Any, name: str) -> Any:
    """A state as the engine needs it: fp32, in the order of the parameter's memory."""
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
    """Master weights and the average, which begin as the weights are; by their names in the struct."""
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
    """The struct of one parameter. `states`: tensors of the optimiser's own, at most two."""
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
    for i, one in enumerate(states):
        out.state[i] = one.data_ptr()
    for member, tensor in extra.items():
        setattr(out, member, tensor.data_ptr())
    return out


def put_in_order(
    parameters: list[Any], gradients: list[Any], addresses: list[int], table: Table | None
) -> list[Any]:
    """Replaces the addresses of gradients whose elements lie in another order than the
    parameter's by those of copies. Returns such gradients; `table` keeps the copies."""
    if table is None:
        return []
    given = gradients if table.complete else [one for one in gradients if one is not None]
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
    """Where somebody else wrote a parameter since the last step (a checkpoint of the model was loaded,
    say), its weights in fp32 follow."""
    if [parameter._version for parameter, _ in table.masters] == table.versions:
        return
    with torch.no_grad():
        for parameter, master in table.masters:
            written = master.to(parameter.dtype) != parameter
            master.copy_(torch.where(written, parameter.to(torch.float32), master))
