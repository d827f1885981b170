"""States of optimisers as they are saved: whose they are, and in which precision they come back."""

from __future__ import annotations

from itertools import chain
from typing import Any

import torch

from .._c.errors import ArgumentError
from .checks import name_of

_SHARED = {"step", "master", "ema"}


def check_state(
    owner: str, groups: list[dict[str, Any]], saved: dict[str, Any], names: list[set[str]]
) -> None:
    """Refuses the state of another optimiser, which torch would only notice in the next step, or
    never. `names`: states of each group."""
    for number, (group, wanted) in enumerate(zip(saved["param_groups"], names)):
        if group.get("amsgrad"):
            raise ArgumentError(
                f"{owner}: the state is one of amsgrad=True, which is not supported"
            )
        for place, key in enumerate(group["params"]):
            state = saved["state"].get(key)
            if not state:
                continue
            found = {name for name, value in state.items() if value is not None}
            missing = wanted - found if found - _SHARED or wanted else set()
            unknown = found - _SHARED - wanted
            # A buffer of momentum that is not used any more is kept, as torch does.
            if (missing and unknown) or (unknown and unknown != {"momentum_buffer"}):
                raise ArgumentError(
                    f"{owner}: the saved state of {name_of(groups, number, place)} has "
                    f"{', '.join(sorted(found))}; {owner} has {', '.join(sorted(wanted)) or 'none'}: "
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
