"""Times layers that Tensor Cores could speed up: unchanged, with padded sizes, and in bfloat16."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from .layer_facts import LayerFacts
from .roof import time_call

MOST = 8  # number of layers to try, slowest first
MOST_S = 0.03
NO_TENSOR_CORES = ("fp32", "float64")
_GROUPS_OF = {"bf16": 8, "fp16": 8, "tf32": 4}
_IMAGE_CHANNELS = 4  # most channels of an image, which the first convolution has to accept


def with_trials(rows: list[LayerFacts], device: Any) -> list[LayerFacts]:
    """Adds possible forward times to the slowest rows, relative to the current time.

    `padded` is the time with padded sizes, for layers whose sizes do not suit Tensor Cores. `in_bf16`
    is the time under autocast, for layers whose precision does not use Tensor Cores.
    """
    slowest = sorted(rows, key=lambda row: -row.seconds)
    padded = [id(row) for row in slowest if padded_sizes(row) is not None][:MOST]
    in_bf16 = [id(row) for row in slowest if needs_16_bits(row)][:MOST]
    out = []
    for row in rows:
        found = row
        if id(row) in padded:
            found = replace(found, padded=_ratio_or_none(row, padded_sizes(row), False, device))
        if id(row) in in_bf16:
            found = replace(found, in_bf16=_ratio_or_none(row, _sizes(row), True, device))
        out.append(found)
    return out


def needs_16_bits(row: LayerFacts) -> bool:
    return row.precision in NO_TENSOR_CORES and _sizes(row) is not None


def _sizes(row: LayerFacts) -> tuple[int, int] | None:
    """Returns the input and output channels (or features) of one group; None for other layers."""
    conv = row.conv
    if conv is not None:
        if len(conv.kernel_size) != 2 or len(row.shape_in) != 4:
            return None
        return conv.in_channels // conv.groups, conv.out_channels // conv.groups
    if row.type == "Linear" and row.shape_in and row.shape_out:
        return row.shape_in[-1], row.shape_out[-1]
    return None


def padded_sizes(row: LayerFacts) -> tuple[int, int] | None:
    """Returns padded sizes. Returns None if padding does not help or Tensor Cores are not used."""
    group = _GROUPS_OF.get(row.precision)
    sizes = _sizes(row)
    if group is None or sizes is None or (row.conv and row.conv.groups > 1):
        return None
    first = sizes[0] if sizes[0] <= _IMAGE_CHANNELS else -(-sizes[0] // group) * group
    padded = (first, -(-sizes[1] // group) * group)
    return None if padded == sizes else padded


def _ratio_or_none(
    row: LayerFacts, sizes: tuple[int, int] | None, in_bf16: bool, device: Any
) -> float | None:
    now = _sizes(row)
    if sizes is None or now is None:
        return None
    try:
        before = _seconds(row, now, False, device)
        return _seconds(row, sizes, in_bf16, device) / before
    except RuntimeError:  # out of memory, or an unknown kind of layer
        return None


def _seconds(row: LayerFacts, sizes: tuple[int, int], in_bf16: bool, device: Any) -> float:
    """Returns the duration of the layer when it runs alone.

    With `in_bf16`, this includes autocast's conversions of input and weight, which layers may share
    in the model.
    """
    torch = sys.modules["torch"]
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "float64": torch.float64}
    kind = torch.float32 if in_bf16 else kinds.get(row.precision, torch.float32)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=in_bf16):
        conv = row.conv
        if conv is None:
            rows = max(1, _product(row.shape_in[:-1]))
            x = torch.ones(rows, sizes[0], device=device, dtype=kind)
            weight = torch.ones(sizes[1], sizes[0], device=device, dtype=kind)
            return time_call(lambda: torch.nn.functional.linear(x, weight), device, MOST_S)
        last = torch.channels_last if row.layout_in == "NHWC" else torch.contiguous_format
        batch, _, height, width = row.shape_in
        groups = conv.groups
        x = torch.ones(batch, sizes[0] * groups, height, width, device=device, dtype=kind)
        shape = (sizes[1] * groups, sizes[0], *conv.kernel_size)
        weight = torch.ones(shape, device=device, dtype=kind)
        x, weight = x.to(memory_format=last), weight.to(memory_format=last)
        around = [size // 2 for size in conv.kernel_size]
        convolve = torch.nn.functional.conv2d
        return time_call(
            lambda: convolve(x, weight, None, conv.stride, around, 1, groups), device, MOST_S
        )


def _product(sizes: list[int]) -> int:
    out = 1
    for size in sizes:
        out *= size
    return out
