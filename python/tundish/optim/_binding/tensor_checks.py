"""Checks parameters and gradients. Errors name the tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..._c.errors import ArgumentError

# Values of tundish_optimizer_tensor.parameter_type.
TYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}


def fp32_number(value: float, device: Any) -> Any:
    """Returns a tensor with a single float32 for the engine, regardless of torch's default dtype and device."""
    return torch.full((), value, dtype=torch.float32, device=device)


def name_of(groups: list[dict[str, Any]], group: int, place: int) -> str:
    """Returns a name such as "parameter 3 of group 0 (layer.weight)"."""
    names = groups[group].get("param_names") if group < len(groups) else None
    name = f" ({names[place]})" if names and place < len(names) else ""
    return f"parameter {place} of group {group}{name}"


def refuse_duplicates(owner: str, groups: list[dict[str, Any]], number: int) -> None:
    """Refuses a parameter that a group lists twice. torch only warns, and updates it twice in a step."""
    seen: dict[Any, int] = {}
    for place, parameter in enumerate(groups[number]["params"]):
        first = seen.setdefault(parameter, place)
        if first != place:
            raise ArgumentError(
                f"{owner}: {name_of(groups, number, place)} is the same tensor as parameter {first}\n"
                "  fix: list each parameter once, as in list(dict.fromkeys(parameters))"
            )


def is_fsdp_part(parameter: Any) -> bool:
    """Returns whether FullyShardedDataParallel owns the parameter. This process may then hold only a part of it."""
    return bool(
        getattr(parameter, "_fsdp_flattened", False) or getattr(parameter, "_is_flat_param", False)
    )


def check_whole(groups: list[dict[str, Any]], what: str, fix: str) -> None:
    """Refuses sharded parameters. Called for features that need whole tensors in every process."""
    for number, group in enumerate(groups):
        for place, parameter in enumerate(group["params"]):
            if is_fsdp_part(parameter):
                raise ArgumentError(
                    f"{what}, and {name_of(groups, number, place)} is sharded by "
                    f"FullyShardedDataParallel\n  fix: {fix}"
                )


def check_parameter(parameter: Any, device: Any, name: str) -> None:
    if is_traceable_wrapper_subclass(parameter):
        raise ArgumentError(
            f"{name} is a {type(parameter).__name__}, which has no memory\n"
            "  fix: use torch.optim for models under fully_shard() and other wrapped tensors"
        )
    if parameter.dtype not in TYPES:
        raise ArgumentError(
            f"{name} is {str(parameter.dtype).removeprefix('torch.')}; "
            "parameters must be float32, bfloat16 or float16"
        )
    if parameter.device != device:
        raise ArgumentError(
            f"{name} is on {parameter.device}, other parameters are on {device}\n"
            "  fix: use one optimizer per device"
        )
    if parameter.is_neg():
        raise ArgumentError(
            f"{name} is a negated view of other numbers, such as the imaginary part of a conjugate\n"
            "  fix: set parameter.data = parameter.data.resolve_neg()"
        )
    if not torch.ops.aten.is_non_overlapping_and_dense.default(parameter):
        raise ArgumentError(
            f"{name} has gaps in memory or elements that share it\n"
            "  fix: set parameter.data = parameter.data.contiguous()"
        )


def check_gradient(gradient: Any, parameter: Any, name: str) -> None:
    check_gradient_place(gradient, parameter, name)
    if gradient.dtype not in TYPES:
        raise ArgumentError(
            f"the gradient of {name} is {str(gradient.dtype).removeprefix('torch.')}; "
            "gradients must be float32, bfloat16 or float16"
        )


def check_gradient_place(gradient: Any, parameter: Any, name: str) -> None:
    """Checks that a gradient is dense and has the parameter's device and shape."""
    if gradient.layout != torch.strided:
        layout = str(gradient.layout).removeprefix("torch.")
        raise ArgumentError(
            f"the gradient of {name} is sparse ({layout})\n"
            "  fix: use Embedding(..., sparse=False), or torch.optim.SparseAdam for this parameter"
        )
    if gradient.device != parameter.device:
        raise ArgumentError(
            f"the gradient of {name} is on {gradient.device}, the parameter on {parameter.device}"
        )
    if gradient.shape != parameter.shape:
        raise ArgumentError(
            f"the gradient of {name} has the shape {tuple(gradient.shape)}, "
            f"the parameter {tuple(parameter.shape)}"
        )


def same_order(gradient: Any, parameter: Any) -> bool:
    """Returns whether the elements of both tensors have the same order in memory.

    Strides must agree wherever a size is not 1. If torch marks a tensor as negated, as it does for some views of
    conjugated numbers, memory holds the negated elements.
    """
    return not gradient.is_neg() and all(
        size == 1 or a == b
        for size, a, b in zip(parameter.shape, gradient.stride(), parameter.stride())
    )
