"""torch's fast optimizer kernels: fused (one kernel for many tensors) and foreach (one per operation)."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class FusedOptimizer(Trick):
    """Sets `fused=True` on torch's optimizer: one kernel updates many tensors."""

    name = "fused_optimizer"
    title = "fused optimizer"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return missing_option(step, "fused")

    def apply(self, step: Step) -> None:
        use_kernels(step, self.name, fused=True, foreach=False)
        step.before_update = step.kept[self.name].add_momentum

    def undo(self, step: Step) -> None:
        step.before_update = None
        step.kept.pop(self.name).undo()

    def code(self) -> list[str]:
        return ["optimizer = ...(model.parameters(), ..., fused=True)"]


@dataclass(frozen=True)
class ForeachOptimizer(Trick):
    """Sets `foreach=True` on torch's optimizer: one kernel per operation for many tensors."""

    name = "foreach_optimizer"
    title = "foreach optimizer"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        return missing_option(step, "foreach")

    def apply(self, step: Step) -> None:
        use_kernels(step, self.name, fused=False, foreach=True)

    def undo(self, step: Step) -> None:
        step.kept.pop(self.name).undo()

    def code(self) -> list[str]:
        return ["optimizer = ...(model.parameters(), ..., foreach=True)"]


Options = list[dict[str, Any]]


def missing_option(step: Step, option: str) -> str:
    optimizer = step.optimizer
    name = type(optimizer).__name__
    rates = [group["lr"] for group in optimizer.param_groups]
    if option == "foreach" and any(isinstance(rate, torch.Tensor) for rate in rates):
        return f"{name}'s foreach kernels do not take a tensor as learning rate"
    if option not in inspect.signature(type(optimizer).__init__).parameters:
        return f"{name} has no {option} kernels in this version of torch"
    if any(p.is_sparse for g in optimizer.param_groups for p in g["params"]):
        return f"{name}'s {option} kernels do not support sparse parameters"
    if any(group.get("differentiable") for group in optimizer.param_groups):
        return f"{name} was made with differentiable=True"
    return ""


def use_kernels(step: Step, name: str, **values: bool) -> None:
    step.kept[name] = Kernels(step, values)


class Kernels:
    """Changes options of the optimizer's groups until undo(). Checkpoints keep the user's options."""

    def __init__(self, step: Step, values: dict[str, bool]) -> None:
        self._step, self._values = step, values
        self._optimizer: Any = step.optimizer
        self._before = [self._own_options(group) for group in self._optimizer.param_groups]
        self._scaling = self._optimizer.__dict__.get("_step_supports_amp_scaling")
        self._made: list[
            tuple[Any, Any, Any]
        ] = []  # parameter, its new momentum, its previous state
        self._enforce()
        self._hooks = [
            # Runs before the hooks of earlier plans, because the last change is undone first.
            self._optimizer.register_state_dict_post_hook(
                lambda _, saved: self._users_checkpoint(saved), prepend=True
            ),
            self._optimizer.register_load_state_dict_post_hook(lambda _: self._enforce()),
        ]

    def undo(self) -> None:
        for hook in self._hooks:
            hook.remove()
        for group, values in zip(self._optimizer.param_groups, self._options()):
            group.update(values)
        move_step_counts(self._optimizer)
        if self._scaling is None:
            self._optimizer.__dict__.pop("_step_supports_amp_scaling", None)
        else:
            self._optimizer._step_supports_amp_scaling = self._scaling
        for parameter, momentum, before in self._made:
            state = self._optimizer.state.get(parameter, {})
            if state.get("momentum_buffer") is not momentum or momentum.any():
                continue
            if before is None:
                del self._optimizer.state[parameter]
            else:
                self._optimizer.state[parameter] = before
        self._step.reset()

    def add_momentum(self) -> None:
        """Creates momentum for parameters that were unfrozen or added. Fused SGD fails without it."""
        self._made += make_momentum(self._optimizer)

    def _enforce(self) -> None:
        for group in self._optimizer.param_groups:
            group.update({key: self._values[key] for key in self._own_options(group)})
        move_step_counts(self._optimizer)
        # torch's constructor normally sets this flag. A fused step divides by a GradScaler's scale itself.
        if isinstance(self._optimizer, _WITH_FUSED):
            self._optimizer._step_supports_amp_scaling = self._values["fused"]
        self._made = make_momentum(self._optimizer) if self._values["fused"] else []
        self._step.reset()

    def _own_options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {key: group[key] for key in self._values if key in group}

    def _options(self) -> Options:
        """Returns the user's options of each group. Groups added later have the optimizer's defaults."""
        added = self._optimizer.param_groups[len(self._before) :]
        return [*self._before, *(self._own_options(self._optimizer.defaults) for _ in added)]

    def _users_checkpoint(self, saved: dict[str, Any]) -> dict[str, Any]:
        groups = [{**g, **values} for g, values in zip(saved["param_groups"], self._options())]
        states = dict(saved["state"])
        made = {id(momentum): (momentum, before) for _, momentum, before in self._made}
        for key, state in saved["state"].items():
            momentum, before = made.get(id(state.get("momentum_buffer")), (None, None))
            if momentum is None or momentum.any():
                continue
            if before is None:
                del states[key]
            else:
                states[key] = before
        return {**saved, "state": states, "param_groups": groups}


_WITH_FUSED = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad)


def move_step_counts(optimizer: Any) -> None:
    """Moves the step counts to the device where torch's kernels expect them."""
    for group in optimizer.param_groups:
        on_device = bool(group.get("fused") or group.get("capturable"))
        for parameter in group["params"]:
            count = optimizer.state.get(parameter, {}).get("step")
            if isinstance(count, torch.Tensor):
                device = parameter.device if on_device else "cpu"
                optimizer.state[parameter]["step"] = count.to(device, torch.float32)


def make_momentum(optimizer: torch.optim.Optimizer) -> list[tuple[Any, Any, Any]]:
    """Creates SGD's momentum tensors, filled with zeros.

    If a scaler skips the first step, fused SGD would leave the momentum uninitialized. Without
    dampening, zeros give the same result as SGD's first step. Returns tuples of the parameter, its new
    momentum and a copy of its previous state (None if it had no state).
    """
    made: list[tuple[Any, Any, Any]] = []
    if not isinstance(optimizer, torch.optim.SGD):
        return made
    for group in optimizer.param_groups:
        if not group["momentum"] or group["dampening"]:
            continue
        for parameter in group["params"]:
            before = dict(optimizer.state[parameter]) if parameter in optimizer.state else None
            if parameter.requires_grad and (before or {}).get("momentum_buffer") is None:
                momentum = torch.zeros_like(parameter)
                optimizer.state[parameter]["momentum_buffer"] = momentum
                made.append((parameter, momentum, before))
    return made
