"""torch's fast optimiser steps: fused (one kernel for many tensors) and foreach (one per operation)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .base import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class FusedOptimizer(Trick):
    name = "fused_optimizer"
    title = "fused optimiser"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return missing_option(step, "fused")

    def apply(self, step: Step) -> None:
        before = options(step.optimizer)
        set_options(step, fused=True, foreach=False)
        make_momentum(step.optimizer)
        step.kept["fused_optimizer"] = before, keep_checkpoints_ordinary(step, before)

    def undo(self, step: Step) -> None:
        before, hooks = step.kept.pop("fused_optimizer")
        for hook in hooks:
            hook.remove()
        restore(step, before)

    def code(self) -> list[str]:
        return ["optimizer = ...(model.parameters(), ..., fused=True)"]


@dataclass(frozen=True)
class ForeachOptimizer(Trick):
    name = "foreach_optimizer"
    title = "foreach optimiser"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return missing_option(step, "foreach")

    def apply(self, step: Step) -> None:
        step.kept["foreach_optimizer"] = options(step.optimizer)
        set_options(step, fused=False, foreach=True)

    def undo(self, step: Step) -> None:
        restore(step, step.kept.pop("foreach_optimizer"))

    def code(self) -> list[str]:
        return ["optimizer = ...(model.parameters(), ..., foreach=True)"]


Options = list[dict[str, Any]]


def missing_option(step: Step, option: str) -> str:
    optimizer = step.optimizer
    name = type(optimizer).__name__
    if option not in inspect.signature(type(optimizer).__init__).parameters:
        return f"{name} has no {option} kernels in this torch"
    if any(p.is_sparse for g in optimizer.param_groups for p in g["params"]):
        return f"{name}'s {option} kernels take no sparse parameters"
    if any(group.get("differentiable") for group in optimizer.param_groups):
        return f"{name} was made with differentiable=True"
    return ""


def options(optimizer: torch.optim.Optimizer) -> Options:
    return [{key: g.get(key) for key in ("fused", "foreach")} for g in optimizer.param_groups]


def set_options(step: Step, **values: bool) -> None:
    for group in step.optimizer.param_groups:
        group.update(values)
    _follow_options(step)


def restore(step: Step, kept: Options) -> None:
    for group, values in zip(step.optimizer.param_groups, kept):
        group.update(values)
    _follow_options(step)


def _follow_options(step: Step) -> None:
    """What torch sets up in the constructor for these options."""
    optimizer: Any = step.optimizer
    fused = all(group.get("fused") for group in optimizer.param_groups)
    optimizer._step_supports_amp_scaling = fused
    for group in optimizer.param_groups:
        on_device = bool(group.get("fused") or group.get("capturable"))
        for parameter in group["params"]:
            count = optimizer.state.get(parameter, {}).get("step")
            if isinstance(count, torch.Tensor):
                device = parameter.device if on_device else "cpu"
                optimizer.state[parameter]["step"] = count.to(device, torch.float32)
    step.reset()


def keep_checkpoints_ordinary(step: Step, before: Options) -> list[Any]:
    """A checkpoint has the user's own options; loading one keeps the fused kernels."""

    def saved(optimizer: Any, state: dict[str, Any]) -> dict[str, Any]:
        groups = [{**group, **values} for group, values in zip(state["param_groups"], before)]
        return {**state, "param_groups": groups}

    def loaded(optimizer: Any) -> None:
        set_options(step, fused=True, foreach=False)
        make_momentum(step.optimizer)

    optimizer: Any = step.optimizer
    return [
        optimizer.register_state_dict_post_hook(saved),
        optimizer.register_load_state_dict_post_hook(loaded),
    ]


def make_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Zeros as SGD's first momentum: fused SGD leaves it unwritten when a scaler skips the first step.

    Momentum times zero plus the gradient is the gradient, what SGD starts with; not with dampening.
    """
    if not isinstance(optimizer, torch.optim.SGD):
        return
    for group in optimizer.param_groups:
        if not group["momentum"] or group["dampening"]:
            continue
        for parameter in group["params"]:
            state = optimizer.state[parameter]
            if parameter.requires_grad and state.get("momentum_buffer") is None:
                state["momentum_buffer"] = torch.zeros_like(parameter)
