"""torch.compile: generates kernels for forward, loss and backward, and fuses pointwise operations."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class Compile(Trick):
    """Compiles the forward pass, the loss and the backward pass with `torch.compile(mode=...)`."""

    mode: str = "default"

    name = "compile"
    title = "torch.compile"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        if self.mode == "reduce-overhead" and step.device.type != "cuda":
            return "needs a GPU"
        return ""

    def apply(self, step: Step) -> None:
        step.compile_options = {"mode": self.mode, "dynamic": False}
        step.reset()

    def undo(self, step: Step) -> None:
        step.compile_options = None
        step.reset()

    def code(self) -> list[str]:
        mode = "" if self.mode == "default" else f', mode="{self.mode}"'
        return [f"model = torch.compile(model{mode})"]


def compiled_graphs() -> int:
    """Returns the number of graphs that torch.compile has compiled in this process; 0 if all ran eagerly."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo is not None else 0
