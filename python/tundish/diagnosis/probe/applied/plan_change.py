"""Applies a plan of `tundish tune` to the script's model and optimizer (`doctor --apply`)."""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..hidden_frames import hidden


class AppliedPlan:
    """Applies the tricks of a plan that do not replace the training step.

    Applies them after the first optimizer step, when the loop's model is known.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._tried = False
        self.done = False
        self.text = "no optimizer step ran"

    def optimizer_ended(self, model: Any, optimizer: Any) -> None:
        """Called after each optimizer step; applies the plan at the first call.

        `model` is the module that the loop calls.
        """
        if self._tried or model is None:
            return
        self._tried = True
        try:
            self.text = self._apply(model, optimizer)
        except Exception as error:
            self.text = f"{type(error).__name__}: {error}"

    def _apply(self, model: Any, optimizer: Any) -> str:
        from tundish.tuning.framework_plan import FrameworkPlan
        from tundish.tuning.plan import load_plan

        plan = load_plan(self._path)
        settings = FrameworkPlan(plan)
        settings.apply(model, optimizer)
        applied, left_out = [*settings.applied], [*settings.left_out]
        if settings.precision == "bf16":
            _use_bf16(model)
            applied.append("bf16 autocast")
        elif settings.precision == "fp16":
            left_out.append("fp16: the script's loop has no GradScaler")
        if settings.accumulate > 1:
            left_out.append(
                f"{settings.accumulate} micro-batches: the script's loop splits its own batches"
            )
        self.done = bool(applied)
        lines = [f"applied: {', '.join(applied) or 'nothing'}"]
        lines += [f"left out: {reason}" for reason in left_out]
        lines += [f"differs: {change}" for change in plan.changes(model, optimizer)]
        return "\n".join(lines)


def _use_bf16(model: Any) -> None:
    """Runs the model under bfloat16 autocast. Outputs are float32, so the loss is computed as before."""
    torch = sys.modules["torch"]
    forward = model.forward
    device = next((p.device.type for p in model.parameters()), "cpu")

    @hidden
    @functools.wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device, torch.bfloat16):
            out = forward(*args, **kwargs)
        return out.float() if isinstance(out, torch.Tensor) and out.is_floating_point() else out

    model.forward = call
