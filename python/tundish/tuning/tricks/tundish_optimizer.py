"""The optimiser's step by tundish.optim: the user's own optimiser object, its groups and its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from .optimizer_equivalents import TWINS, Twin, twin_of
from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


MUON = next(twin for twin in TWINS if twin.ours == "Muon")
_OTHERS = tuple(twin for twin in TWINS if twin is not MUON)


@dataclass(frozen=True)
class TundishOptimizer(Trick):
    """Runs the optimizer's step with `tundish.optim`.

    The optimizer object, its groups and its state stay yours. Supports torch's SGD, Adam and AdamW and
    timm's Lars, Lamb, Lion and NvNovoGrad.
    """

    name = "tundish_optimizer"
    title = "Tundish's optimiser"
    grade = Grade.REASSOCIATION
    replaces: ClassVar[tuple[str, ...]] = ("fused_optimizer", "foreach_optimizer")

    def obstacle(self, step: Step) -> str:
        return unsuitable(step.optimizer, _OTHERS)

    def apply(self, step: Step) -> None:
        optimizer: Any = step.optimizer
        twin = twin_of(optimizer)
        assert twin is not None  # obstacle() says so
        more = {name: optimizer.defaults[name] for name in twin.arguments}
        ours = twin.make()([torch.nn.Parameter(torch.zeros(0, 0))], lr=1.0, **more)

        def share() -> None:
            """Both have the same groups and states: schedulers and checkpoints go on with the user's."""
            twin.to_ours(optimizer.param_groups, optimizer.state)
            ours.param_groups, ours.state = optimizer.param_groups, optimizer.state
            ours.defaults = optimizer.defaults
            ours._forget()

        share()
        hooks = [
            optimizer.register_state_dict_post_hook(lambda _, saved: ordinary(twin, saved)),
            optimizer.register_load_state_dict_post_hook(lambda _: share()),
        ]
        step.kept[self.name] = twin, hooks
        step.updater = Updater(ours, optimizer)
        step.reset()

    def undo(self, step: Step) -> None:
        twin, hooks = step.kept.pop(self.name)
        for hook in hooks:
            hook.remove()
        step.updater = None
        optimizer: Any = step.optimizer
        twin.to_theirs(optimizer.param_groups, optimizer.state)
        give_own_types(optimizer)
        step.reset()

    def code(self) -> list[str]:
        return [
            "optimizer = tundish.optim.AdamW(model.parameters(), ...)  # or your optimizer's name",
            "# NovoGrad alone differs in arguments and state",
        ]


def unsuitable(optimizer: Any, twins: tuple[Twin, ...]) -> str:
    name = type(optimizer).__name__
    twin = twin_of(optimizer)
    if twin is None or twin not in twins:
        names = ", ".join(one.name for one in twins)
        return f"{name} is not torch's or timm's {names}"
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        return f"{name} has hooks that its own step() calls"
    for group in optimizer.param_groups:
        for option in twin.refused:
            if group.get(option):
                return f"{name} was made with {option}=True"
        for parameter in group["params"]:
            plain = type(parameter) in (torch.nn.Parameter, torch.Tensor)
            known = parameter.dtype in (torch.float32, torch.bfloat16, torch.float16)
            if not plain or not known or parameter.layout != torch.strided:
                return f"{name} has parameters that are not plain tensors of float32, bfloat16 or float16"
    return twin.obstacle(optimizer)


def ordinary(twin: Twin, saved: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint as the user's optimiser writes it."""
    states = {key: dict(state) for key, state in saved["state"].items()}
    groups = [dict(group) for group in saved["param_groups"]]
    twin.to_theirs(groups, states)
    return {**saved, "state": states, "param_groups": groups}


def give_own_types(optimizer: Any) -> None:
    """Ours keeps states of parameters of 16 bits in fp32; torch and timm, in the parameter's type."""
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            same = isinstance(value, torch.Tensor) and value.shape == parameter.shape
            if same and value.dtype != parameter.dtype and key != "step":
                state[key] = value.to(parameter.dtype)


class Updater:
    """What the step calls instead of the user's optimiser."""

    def __init__(self, ours: Any, optimizer: Any) -> None:
        self.ours, self._optimizer = ours, optimizer

    def done(self) -> None:
        self._optimizer._opt_called = True  # a learning-rate scheduler asks for it
