"""Buffers that hold many parameters, and their segments for optimizers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch

from ..._c.errors import ArgumentError
from .._binding.engine_calls import are_plain, gradients_match
from .flat_choice import Choice

# Tensors start at multiples of this many elements: 256 bytes of float32, or 128 bytes of a 16-bit type. Two tensors
# therefore never share a GPU cache line, and the 16-byte loads of vector code and cuBLAS stay aligned, as in a
# separate allocation.
ALIGNMENT = 64


@dataclass(eq=False)
class FlatBuffer:
    """All parameters of one dtype and device. The gaps between tensors are always zero."""

    parameter: torch.Tensor
    gradient: torch.Tensor  # up to date after a backward pass
    names: list[str] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)  # (begin, end) of each, in elements

    @property
    def dtype(self) -> torch.dtype:
        return self.parameter.dtype

    @property
    def device(self) -> torch.device:
        return self.parameter.device


@dataclass(eq=False)
class Segment:
    """The part of a buffer that belongs to one parameter group. `flat` is the parameter that the optimizer sees."""

    group: int
    flat: torch.nn.Parameter
    gradient: torch.Tensor  # value of flat.grad while there are gradients; same length as flat
    names: list[str]
    parameters: list[torch.nn.Parameter]
    weights: list[torch.Tensor]  # memory of each parameter in the buffer
    views: list[torch.Tensor]  # memory of each gradient in the buffer
    plain: bool  # whether all parameters have torch's own classes, not subclasses

    def is_attached(self) -> bool:
        """Returns whether the gradient of every parameter is its view. Runs in every step."""
        return gradients_match(self.parameters, self.views, self.plain)


def round_up(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def build(choice: Choice) -> tuple[list[FlatBuffer], list[Segment]]:
    """Copies the chosen parameters into buffers and makes them views of the buffers."""
    kinds: dict[tuple[Any, Any], list[tuple[int, str, torch.nn.Parameter]]] = {}
    for group, chosen in enumerate(choice.groups):
        for name, parameter in chosen:
            key = (parameter.dtype, parameter.device)
            kinds.setdefault(key, []).append((group, name, parameter))
    buffers, segments = [], []
    for (dtype, device), members in kinds.items():
        size = sum(round_up(parameter.numel()) for _, _, parameter in members)
        zeros = [torch.zeros(size, dtype=dtype, device=device) for _ in range(2)]
        buffer = FlatBuffer(*zeros)
        buffers.append(buffer)
        begin = 0
        for group in dict.fromkeys(group for group, _, _ in members):
            own = [(name, parameter) for number, name, parameter in members if number == group]
            segments.append(_segment(buffer, begin, group, own))
            begin += segments[-1].gradient.numel()
    segments.sort(key=lambda segment: segment.group)
    return buffers, segments


def refuse_copy(memo: Any) -> NoReturn:
    raise ArgumentError(
        "an optimizer of flat parameters cannot be copied\n"
        "  fix: copy the model, flatten the copy, and load the optimizer's state_dict()"
    )


def _segment(
    buffer: FlatBuffer, begin: int, group: int, own: list[tuple[str, torch.nn.Parameter]]
) -> Segment:
    weights, views, at = [], [], begin
    for name, parameter in own:
        shape, strides = parameter.shape, parameter.stride()  # channels_last stays channels_last
        weight = buffer.parameter.as_strided(shape, strides, at)
        weight.copy_(parameter.data)
        parameter.data = weight
        weights.append(weight)
        views.append(buffer.gradient.as_strided(shape, strides, at))
        buffer.names.append(name)
        buffer.ranges.append((at, at + parameter.numel()))
        at += round_up(parameter.numel())
    flat = torch.nn.Parameter(buffer.parameter[begin:at])
    flat.__deepcopy__ = (
        refuse_copy  # a copied (model, optimizer) would have an optimizer that trains nothing
    )
    return Segment(
        group,
        flat,
        buffer.gradient[begin:at],
        [name for name, _ in own],
        [parameter for _, parameter in own],
        weights,
        views,
        are_plain([parameter for _, parameter in own]) and are_plain(views),
    )
