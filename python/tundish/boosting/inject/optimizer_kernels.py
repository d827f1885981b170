"""Runs the script's optimizers with torch's fused kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def use_fused_kernels(optimizer: Any) -> Callable[[], None]:
    """Switches an optimizer to fused kernels before its first step. Returns a function that undoes it.

    Checkpoints keep the options that the script has chosen.
    """
    from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer

    trick, step = FusedOptimizer(), step_of(optimizer)
    trick.apply(step)
    # For parameters that the script adds or unfreezes later.
    hook = optimizer.register_step_pre_hook(lambda *_: step.before_update())

    def undo() -> None:
        hook.remove()
        trick.undo(step)

    return undo


def fused_obstacle(optimizer: Any) -> str:
    """Returns why the optimizer cannot use fused kernels, "" if it can."""
    from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer

    return FusedOptimizer().obstacle(step_of(optimizer))


def step_of(optimizer: Any) -> Any:
    """Returns a step for tricks that change only the optimizer."""
    import torch

    from tundish.tuning.step import Step

    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return Step(_Holder(parameters), optimizer, torch.nn.functional.mse_loss)


def _Holder(parameters: list[Any]) -> Any:
    """Returns a module with these parameters."""
    import torch

    holder = torch.nn.Module()
    for number, parameter in enumerate(parameters):
        holder._parameters[f"p{number}"] = parameter
    return holder
