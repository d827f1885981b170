"""Gradient checkpointing: blocks keep only their inputs and are recomputed in the backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..fingerprint import unwrapped
from ..memory.recomputed_block import RecomputedForward
from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class Checkpointing(Trick):
    """Gradient checkpointing: recomputes activations in the backward pass instead of storing them.

    `blocks` are the names of the submodules to recompute; `choose_blocks` finds them for a memory
    target. A recomputed block sees the same inputs and random numbers, so the results are bitwise
    equal if its operations are deterministic.
    """

    blocks: tuple[str, ...] = ()

    name = "checkpointing"
    title = "gradient checkpointing"
    grade = Grade.REASSOCIATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))  # a plan file stores a list

    def obstacle(self, step: Step) -> str:
        if not self.blocks:
            return "no block of the model was chosen"
        modules = _submodules(step)
        for name in self.blocks:
            if name not in modules or not name:
                return f"the model has no submodule {name!r}"
            if isinstance(modules[name].forward, RecomputedForward):
                return f"{name} is already checkpointed"
            if isinstance(modules[name], (torch.nn.ModuleList, torch.nn.ModuleDict)):
                return f"{name} is a list of modules without a forward pass"
            for other in self.blocks:
                if name.startswith(f"{other}."):
                    return f"{name} is inside {other}, which is checkpointed as a whole"
        return ""

    def apply(self, step: Step) -> None:
        """Replaces forward() of the blocks. Names, parameters and hooks of the model stay the same."""
        modules = _submodules(step)
        for name in self.blocks:
            module = modules[name]
            before = module.__dict__.get("forward")  # usually defined on the class, not the object
            step.kept[f"checkpointing {name}"] = (module, before)
            module.forward = RecomputedForward(name, module)
        step.reset()

    def undo(self, step: Step) -> None:
        for name in self.blocks:
            module, before = step.kept.pop(f"checkpointing {name}")
            if before is None:
                del module.forward
            else:
                module.forward = before
        step.reset()

    def code(self) -> list[str]:
        return [
            "from torch.utils.checkpoint import checkpoint",
            f"# in the forward pass of the model, for {', '.join(self.blocks)}:",
            "x = checkpoint(self.block, x, use_reentrant=False)  # instead of x = self.block(x)",
            "# BatchNorm inside such a block updates its running statistics twice; plan.apply() does not",
        ]


def _submodules(step: Step) -> dict[str, torch.nn.Module]:
    """Returns the submodules by name, also by their names without DistributedDataParallel or torch.compile()."""
    inner = dict(unwrapped(step.model).named_modules())
    return {**inner, **dict(step.model.named_modules())}
