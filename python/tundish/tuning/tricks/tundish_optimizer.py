"""Runs the user's optimizer with the kernels of tundish.optim, on the same groups and states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from .lent_state import LentState, has_step_hooks, lent_state
from .optimizer_equivalents import TWINS, OptimizerTwin, twin_of
from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


MUON = next(twin for twin in TWINS if twin.ours == "Muon")
_OTHERS = tuple(twin for twin in TWINS if twin is not MUON)


@dataclass(frozen=True)
class TundishOptimizer(Trick):
    """Runs your optimizer with the kernels of `tundish.optim`.

    You keep your optimizer object with its groups and state. Supports torch's SGD, Adam and AdamW, and
    timm's Lars, Lamb, Lion and NvNovoGrad.
    """

    name = "tundish_optimizer"
    title = "Tundish's optimizer"
    grade = Grade.REASSOCIATION
    replaces: ClassVar[tuple[str, ...]] = ("fused_optimizer", "foreach_optimizer")

    def obstacle(self, step: Step) -> str:
        return find_obstacle(step.optimizer, _OTHERS)

    def apply(self, step: Step) -> None:
        optimizer: Any = step.optimizer
        twin = twin_of(optimizer)
        assert twin is not None  # checked by obstacle()
        more = {name: optimizer.defaults[name] for name in twin.arguments}
        ours = twin.make()([torch.nn.Parameter(torch.zeros(0, 0))], lr=1.0, **more)
        lent = lent_state(optimizer, twin)
        lent.lend(ours)
        step.kept[self.name] = lent, ours
        step.updater = Updater(ours, optimizer, lent)
        step.reset()

    def undo(self, step: Step) -> None:
        lent, ours = step.kept.pop(self.name)
        lent.release(ours)
        step.updater = None
        step.reset()

    def code(self) -> list[str]:
        return [
            "optimizer = tundish.optim.AdamW(model.parameters(), ...)  # or your optimizer's name",
            "# NovoGrad alone differs in arguments and state",
        ]


def find_obstacle(optimizer: Any, twins: tuple[OptimizerTwin, ...]) -> str:
    name = type(optimizer).__name__
    twin = twin_of(optimizer)
    if twin is None or twin not in twins:
        names = ", ".join(other.name for other in twins)
        return f"{name} is not torch's or timm's {names}"
    if has_step_hooks(optimizer):
        return f"{name} has step hooks"
    for group in optimizer.param_groups:
        for option in twin.refused:
            if group.get(option):
                return f"{name} was made with {option}=True"
        if len(set(group["params"])) < len(group["params"]):
            return f"{name} has a group that lists a parameter twice"
        for parameter in group["params"]:
            plain = type(parameter) in (torch.nn.Parameter, torch.Tensor)
            known = parameter.dtype in (torch.float32, torch.bfloat16, torch.float16)
            if not plain or not known or parameter.layout != torch.strided:
                return f"{name} has parameters that are not plain tensors of float32, bfloat16 or float16"
    return twin.obstacle(optimizer)


class Updater:
    """Replaces the user's optimizer in a training step."""

    def __init__(self, ours: Any, optimizer: Any, lent: LentState) -> None:
        self._ours, self._optimizer, self._lent = ours, optimizer, lent

    @property
    def ours(self) -> Any:
        self._lent.to_ours()
        return self._ours

    def done(self) -> None:
        self._optimizer._opt_called = True  # learning rate schedulers check this flag
