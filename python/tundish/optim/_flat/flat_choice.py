"""Chooses the parameters of a model that go into flat buffers. Errors name the unsuitable parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..._c.errors import ArgumentError

Named = list[tuple[str, torch.nn.Parameter]]


@dataclass
class Choice:
    """Parameters to move, by group, and frozen parameters, which are not moved."""

    groups: list[Named] = field(default_factory=list)
    options: list[dict[str, Any]] = field(
        default_factory=list
    )  # options of each group, as given by the user
    frozen: Named = field(default_factory=list)
    all_trainable: bool = True  # whether every trainable parameter is chosen, as without `groups`


def choose(model: torch.nn.Module, groups: Iterable[Any] | None) -> Choice:
    """Chooses the parameters to move. `groups` has the form of the first argument of torch's optimizers."""
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"flatten() takes a torch.nn.Module, not {type(model).__name__}")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    choice = Choice(all_trainable=groups is None)
    seen: dict[int, int] = {}
    for place, group in enumerate(_dictionaries(model.parameters() if groups is None else groups)):
        chosen: Named = []
        for number, parameter in enumerate(_tensors_of(group["params"])):
            if id(parameter) not in names:
                raise ArgumentError(
                    f"group {place}, tensor {number}, shape {tuple(parameter.shape)}: not a parameter of the model\n"
                    "  fix: create the groups from model.named_parameters()"
                )
            name = names[id(parameter)]
            if id(parameter) in seen:
                where = f"groups {seen[id(parameter)]} and {place}"
                raise ArgumentError(
                    f"parameter {name!r} is in {where}\n  fix: put it into one group"
                )
            seen[id(parameter)] = place
            (chosen if parameter.requires_grad else choice.frozen).append((name, parameter))
        choice.groups.append(chosen)
        choice.options.append({key: value for key, value in group.items() if key != "params"})
    moved = [pair for chosen in choice.groups for pair in chosen]
    if not moved:
        raise ArgumentError("the model has no parameter that requires a gradient")
    for name, parameter in moved:
        refuse_bad_parameter(name, parameter)
    refuse_shared_memory(moved)
    return choice


def _dictionaries(groups: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns groups as dictionaries. Tensors and (name, tensor) pairs form one group, as in torch."""
    given = list(groups)
    if given and not isinstance(given[0], dict):
        return [{"params": given}]
    return [dict(group) for group in given]


def _tensors_of(parameters: Any) -> list[torch.nn.Parameter]:
    given = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    return [item[1] if isinstance(item, tuple) else item for item in given]


def refuse_bad_parameter(name: str, parameter: torch.nn.Parameter) -> None:
    """Refuses a parameter that is not dense, or whose class is not torch's own."""
    reason, fix = "", ""
    if isinstance(parameter, torch.nn.parameter.UninitializedTensorMixin):
        reason, fix = "has no shape yet", "run one batch through the model first"
    elif type(parameter) is not torch.nn.Parameter or type(parameter.data) is not torch.Tensor:
        kind = type(parameter if type(parameter) is not torch.nn.Parameter else parameter.data)
        reason, fix = f"is a {kind.__name__}", "leave it out of the groups"
    elif parameter.layout != torch.strided:
        reason, fix = f"has the layout {parameter.layout}", "leave it out of the groups"
    elif parameter.device.type == "meta":
        reason, fix = (
            "is on the meta device and has no values",
            "load or initialize the model first",
        )
    elif not is_dense(parameter):
        reason = f"has gaps or overlaps in memory (strides {parameter.stride()})"
        fix = f"make it dense first: model.{name}.data = model.{name}.data.contiguous()"
    if reason:
        raise ArgumentError(f"parameter {name!r} {reason} and cannot be flattened\n  fix: {fix}")


def is_dense(tensor: torch.Tensor) -> bool:
    """Returns whether the elements fill one range of memory without gaps or overlaps, in any order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 0:
            return True
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def refuse_shared_memory(moved: Named) -> None:
    """Refuses two Parameter objects over the same memory, which would drift apart in the buffer."""
    extents = sorted(
        (parameter.data_ptr(), parameter.numel() * parameter.element_size(), name)
        for name, parameter in moved
        if parameter.numel()
    )
    for (begin, size, name), (next_begin, _, next_name) in itertools.pairwise(extents):
        if begin + size > next_begin:
            raise ArgumentError(
                f"parameters {name!r} and {next_name!r} share memory but are two Parameter objects\n"
                "  fix: tie them by assigning the same Parameter to both modules"
            )
