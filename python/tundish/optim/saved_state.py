"""States of optimisers as they are saved: whose they are, and in which precision they come back."""

from __future__ import annotations

from itertools import chain
from typing import Any

import torch

from .._c.errors import ArgumentError
from .checks import name_of

_SHARED = {"step", "master", "ema"}


def check_state(optimizer: Any, saved: dict[str, Any]) -> None:
    """Refuses the state of another optimiser, which torch would only notice in the next step, or
    never."""
    owner, groups = type(optimizer).__name__, optimizer.param_groups
    for number, group in enumerate(saved["param_groups"]):
        if group.get("amsgrad"):
            raise ArgumentError(
                f"{owner}: the state is one of amsgrad=True, which is not supported"
            )
        if "bias_correction" not in optimizer.defaults and group.get("bias_correction") is False:
            raise ArgumentError(
                f"{owner}: the state is one of bias_correction=False, which is not supported"
            )
        wanted = optimizer._saved_names({**optimizer.defaults, **group})
        for place, key in enumerate(group["params"]):
            state = saved["state"].get(key) or {}
            found = {name for name, value in state.items() if value is not None} - _SHARED
            # A buffer of momentum that is not used any more is kept, as torch does.
            if not found or found == wanted or (not wanted and found == {"momentum_buffer"}):
                continue
            raise ArgumentError(
                f"{owner}: the saved state of {name_of(groups, number, place)} has "
                f"{', '.join(sorted(found))}, not {', '.join(sorted(wanted)) or 'none'}: "
                "it is the state of another optimiser"
            )


def restore_fp32(optimizer: Any, saved: dict[str, Any]) -> None:
    """torch casts loaded states to the type of the parameter; these are fp32 always."""
    keys = chain.from_iterable(group["params"] for group in saved["param_groups"])
    parameters = chain.from_iterable(group["params"] for group in optimizer.param_groups)
    for key, parameter in zip(keys, parameters):
        if parameter.dtype == torch.float32:
            continue
        for name, value in saved["state"].get(key, {}).items():
            if isinstance(value, torch.Tensor) and name != "step":
                fp32 = value.to(device=parameter.device, dtype=torch.float32)
                optimizer.state[parameter][name] = fp32
