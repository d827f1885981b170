"""The optimiser's step by tundish.optim: the user's own optimiser object, its groups and its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from .base import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step

_NAMES = ("SGD", "Adam", "AdamW")


@dataclass(frozen=True)
class TundishOptimizer(Trick):
    name = "tundish_optimizer"
    title = "Tundish's optimiser"
    grade = Grade.REASSOCIATION
    replaces: ClassVar[tuple[str, ...]] = ("fused_optimizer", "foreach_optimizer")

    def obstacle(self, step: Step) -> str:
        return unsuitable(step.optimizer)

    def apply(self, step: Step) -> None:
        from ... import optim

        optimizer: Any = step.optimizer
        kind = getattr(optim, type(optimizer).__name__)
        ours = kind([torch.nn.Parameter(torch.zeros(0))], lr=1.0)
        share(ours, optimizer)
        hooks = [
            optimizer.register_state_dict_post_hook(with_own_counts),
            optimizer.register_load_state_dict_post_hook(lambda loaded: share(ours, loaded)),
        ]
        step.kept["tundish_optimizer"] = hooks
        step.updater = Updater(ours, optimizer)
        step.reset()

    def undo(self, step: Step) -> None:
        for hook in step.kept.pop("tundish_optimizer"):
            hook.remove()
        step.updater = None
        give_own_counts(step.optimizer)
        step.reset()

    def code(self) -> list[str]:
        return [
            "optimizer = tundish.optim.AdamW(model.parameters(), ...)  # or SGD, Adam: same arguments, state"
        ]


def unsuitable(optimizer: Any) -> str:
    kind = type(optimizer)
    name = kind.__name__
    if name not in _NAMES or kind is not getattr(torch.optim, name):
        return f"{name} is not torch's SGD, Adam or AdamW"
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        return f"{name} has hooks that its own step() calls"
    for group in optimizer.param_groups:
        for option in ("amsgrad", "differentiable"):
            if group.get(option):
                return f"{name} was made with {option}=True"
        for parameter in group["params"]:
            plain = type(parameter) in (torch.nn.Parameter, torch.Tensor)
            known = parameter.dtype in (torch.float32, torch.bfloat16, torch.float16)
            if not plain or not known or parameter.layout != torch.strided:
                return f"{name} has parameters that are not plain tensors of float32, bfloat16 or float16"
    return ""


def share(ours: Any, optimizer: Any) -> None:
    """Both have the same groups and states: schedulers and checkpoints go on with the user's."""
    ours.param_groups, ours.state, ours.defaults = (
        optimizer.param_groups,
        optimizer.state,
        optimizer.defaults,
    )
    ours._forget()


def with_own_counts(optimizer: Any, saved: dict[str, Any]) -> dict[str, Any]:
    """Ours keeps one count of steps for many parameters; torch would count it once for each."""
    states = {
        key: {**state, "step": state["step"].clone()} if "step" in state else state
        for key, state in saved["state"].items()
    }
    return {**saved, "state": states}


def give_own_counts(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        on_device = bool(group.get("fused") or group.get("capturable"))
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            if isinstance(state.get("step"), torch.Tensor):
                device = parameter.device if on_device else "cpu"
                state["step"] = state["step"].to(device, torch.float32, copy=True)


class Updater:
    """What the step calls instead of the user's optimiser."""

    def __init__(self, ours: Any, optimizer: Any) -> None:
        self.ours, self._optimizer = ours, optimizer

    def done(self) -> None:
        self._optimizer._opt_called = True  # a learning-rate scheduler asks for it
