"""In-place activations: ReLU and similar functions overwrite their input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class InplaceActivations(Trick):
    """Sets `inplace=True` on ReLU and similar activations, which then overwrite their input."""

    name = "inplace"
    title = "in-place activations"
    grade = Grade.BITWISE

    def obstacle(self, step: Step) -> str:
        if not _candidates(step.model):
            return "no activation of the model can be made in-place"
        return ""

    def apply(self, step: Step) -> None:
        """Sets `inplace`. The backward pass raises an error if another layer needs an overwritten input."""
        modules = _candidates(step.model)
        for module in modules:
            module.inplace = True
        step.kept["inplace"] = modules
        step.reset()

    def undo(self, step: Step) -> None:
        for module in step.kept.pop("inplace"):
            module.inplace = False
        step.reset()

    def code(self) -> list[str]:
        return ["nn.ReLU(inplace=True)  # and the model's other activations"]


# Activations whose backward pass needs only their output. SiLU, GELU and Hardswish need their input.
_FROM_OUTPUT = (
    torch.nn.ReLU,
    torch.nn.ReLU6,
    torch.nn.LeakyReLU,
    torch.nn.ELU,
    torch.nn.Hardtanh,
    torch.nn.Threshold,
)


def _candidates(model: torch.nn.Module) -> list[torch.nn.Module]:
    return [m for m in model.modules() if isinstance(m, _FROM_OUTPUT) and not m.inplace]
