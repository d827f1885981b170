"""Converts states of timm and Apex, which keep step counts and norms per group.

timm's Lamb and Apex's FusedAdam, FusedLAMB and FusedNovoGrad count steps per group; torch and Tundish count
per parameter. FusedNovoGrad also keeps norms per group: one tensor for float16 parameters, one for float32.
"""

from __future__ import annotations

from typing import Any

import torch

from ..._c.errors import ArgumentError
from .tensor_checks import fp32_number

# Key of a copy of a group's step count. timm and Apex continue counting in "step" only; torch changes neither.
WRITTEN_STEP = "written_step"


def read_group_states(owner: str, saved: dict[str, Any]) -> dict[str, Any]:
    """Returns a saved state with the groups' step counts and norms moved to the states of the parameters."""
    states = dict(saved["state"])
    groups = []
    for number, group in enumerate(saved["param_groups"]):
        group = dict(group)
        step, norms = group.pop("step", None), group.pop("exp_avg_sq", None)
        written = group.pop(WRITTEN_STEP, None)
        # A parameter that only has an average or master weights was never updated.
        keys = [
            key for key in group["params"] if (states.get(key) or {}).keys() - {"ema", "master"}
        ]
        if step is not None:
            states.update(with_steps(keys, states, float(step), written))
        if norms is not None and owner != "NovoGrad":
            raise ArgumentError(
                f"{owner}: the saved state has norms in group {number}: it is the state of NovoGrad"
            )
        if norms is not None:
            bare = [k for k in keys if "exp_avg" in states[k] and "exp_avg_sq" not in states[k]]
            states.update(with_norms(owner, number, bare, states, norms))
        groups.append(group)
    return {**saved, "state": states, "param_groups": groups}


def with_steps(
    keys: list[Any], states: dict[Any, Any], step: float, written: float | None = None
) -> dict[Any, Any]:
    """Returns states with one step count per parameter. `step` is the count of their group.

    After loading a state, timm and Apex count only in the group. If the group's count is ahead of the parameters'
    counts, each parameter has made the missing steps.

    written  the group's count when Tundish saved the state; None if another library saved the state, in which case
             the largest count of a parameter is used
    """
    if written is None:
        counts = [float(states[key]["step"]) for key in keys if "step" in states[key]]
        written = max(counts, default=step)
    missing = max(0.0, step - float(written))
    out = {}
    for key in keys:
        own = states[key].get("step")
        if own is None:
            out[key] = {**states[key], "step": fp32_number(step, "cpu")}
        elif missing:
            out[key] = {**states[key], "step": fp32_number(float(own) + missing, "cpu")}
    return out


def with_norms(
    owner: str, number: int, keys: list[Any], states: dict[Any, Any], norms: Any
) -> dict[Any, Any]:
    """Returns states with one norm per parameter. The dtype of the momentum shows which of Apex's tensors has it."""
    halves = [key for key in keys if states[key]["exp_avg"].dtype == torch.float16]
    floats = [key for key in keys if states[key]["exp_avg"].dtype != torch.float16]
    out = {}
    for own, given in zip((halves, floats), norms):
        if len(own) != (count := 0 if given is None else given.numel()) and keys:
            raise ArgumentError(
                f"{owner}: the saved state of group {number} has {count} norms for {len(own)} "
                "parameters: it is the state of another model"
            )
        for place, key in enumerate(own):
            out[key] = {**states[key], "exp_avg_sq": given.flatten()[place].clone()}
    return out


def add_group_steps(saved: dict[str, Any]) -> None:
    """Adds a step count to each group, where timm and Apex read it."""
    for group in saved["param_groups"]:
        states = [saved["state"].get(key, {}) for key in group["params"]]
        group["step"] = max((int(state["step"]) for state in states if "step" in state), default=0)
        group[WRITTEN_STEP] = group["step"]


def add_group_norms(saved: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    """Adds the norms to each group, where Apex reads them. `groups` are the optimizer's groups, with parameters."""
    for group, own in zip(saved["param_groups"], groups):
        norms: tuple[list[Any], list[Any]] = [], []
        for key, parameter in zip(group["params"], own["params"]):
            if (value := saved["state"].get(key, {}).get("exp_avg_sq")) is not None:
                norms[parameter.dtype != torch.float16].append(value.reshape(1))
        if norms[0] or norms[1]:
            device = (norms[0] or norms[1])[0].device
            group["exp_avg_sq"] = [
                torch.cat(parts) if parts else torch.empty(0, device=device) for parts in norms
            ]
