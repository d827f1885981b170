"""Applies a tuning plan in the training loop of Lightning, Accelerate or another framework.

A plan is the list of tricks that `tundish.tune` found. Most tricks change the model, the optimizer or
flags of torch in place. Precision and gradient accumulation are arguments that you pass to the
framework. A CUDA graph of the whole step needs plan.apply().
"""

from __future__ import annotations

from typing import Any

import torch

from .._c.errors import ArgumentError
from .fingerprint import Fingerprint, digest_of, unwrapped
from .plan import Plan
from .step import Step
from .tricks import Trick, in_order

_ON_OBJECTS = (
    "strict_fp32",
    "torch_defaults",
    "tf32",
    "cudnn_benchmark",
    "inplace",
    "channels_last",
    "foreach_optimizer",
    "fused_optimizer",
)
_BY_FRAMEWORK = ("bf16", "fp16", "accumulate", "set_to_none")


class FrameworkPlan:
    """Applies a tuning plan in the training loop of Accelerate or another framework.

    precision   precision to pass to the framework, in Accelerate's notation: "bf16", "fp16" or "no"
    accumulate  gradient accumulation steps to pass to the framework
    applied     titles of the tricks that `apply` applied
    left_out    "title: reason" for each trick that `apply` left out
    """

    def __init__(self, plan: Plan) -> None:
        names = {trick.name: trick for trick in plan.tricks}
        self.precision = "bf16" if "bf16" in names else "fp16" if "fp16" in names else "no"
        self.accumulate = int(getattr(names.get("accumulate"), "parts", 1))
        self.applied: list[str] = []
        self.left_out: list[str] = []
        self._plan = plan
        self._step: Step | None = None
        self._done: list[Trick] = []
        self._compiled: list[torch.nn.Module] = []
        self._hook: Any = None

    def apply(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Sets torch flags, memory layout, compilation and optimizer kernels in place.

        Call this method after the model has been moved to its device. You can load a checkpoint
        before or after the call.
        """
        if self._step is not None:
            raise ArgumentError(
                "the plan is applied already\n  fix: call undo() first; another model needs a plan of its own"
            )
        check_job(self._plan.fingerprint, model, optimizer)
        step = self._step = Step(model, optimizer, torch.nn.functional.mse_loss)
        try:
            for trick in in_order(self._plan.tricks):
                reason = self._apply_one(trick, step)
                if reason:
                    self.left_out.append(f"{trick.title}: {reason}")
            if step.before_update is not None:  # a Step calls it itself
                self._hook = optimizer.register_step_pre_hook(
                    lambda *_: step.before_update() if step.before_update is not None else None
                )
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Reverts `apply`."""
        for module in self._compiled:
            module._compiled_call_impl = None
        while self._done:
            assert self._step is not None
            self._done.pop().undo(self._step)
        if self._hook is not None:
            self._hook.remove()
        self._step = self._hook = None
        self._compiled, self.applied, self.left_out = [], [], []

    def _apply_one(self, trick: Trick, step: Step) -> str:
        """Applies one trick. Returns the reason if the trick is left out, or an empty string."""
        if trick.name in _BY_FRAMEWORK:
            return ""
        if trick.name == "compile":
            self._compile(trick, step.model)
        elif trick.name in _ON_OBJECTS:
            obstacle = trick.obstacle(step)
            if obstacle:
                return obstacle
            trick.apply(step)
            self._done.append(trick)
        else:
            return "needs step = plan.apply(model, optimizer, loss_fn)"
        self.applied.append(trick.title)
        return ""

    def _compile(self, trick: Any, model: torch.nn.Module) -> None:
        """Compiles the model in place, which keeps parameter names and checkpoints unchanged.

        A LightningModule calls its submodules from training_step(), so the submodules are compiled
        instead of the whole module.
        """
        for module in _parts(model):
            _compile_calls(module, trick.mode)
            self._compiled.append(module)


def check_job(made_for: Fingerprint, model: torch.nn.Module, optimizer: Any) -> None:
    """Refuses a plan for another model or optimizer.

    A framework's module may hold more than the model: other parts, a loss, a copy with averaged weights.
    """
    kinds = {type(one).__name__ for one in (optimizer, getattr(optimizer, "optimizer", None))}
    if made_for.optimizer not in kinds:
        changed = f"optimizer was {made_for.optimizer}, this one is {type(optimizer).__name__}"
    elif any(digest_of(module) == made_for.weights for module in unwrapped(model).modules()):
        return
    else:
        count = sum(p.numel() for p in model.parameters())
        if hasattr(unwrapped(model), "training_step") and count >= made_for.parameters:
            return
        changed = (
            f"model was {made_for.model} with {made_for.parameters:,} parameters, this one is "
            f"{type(model).__name__} with {count:,}"
        )
    raise ArgumentError(
        f"this plan is for another job: the plan's {changed}\n"
        "  fix: tune again: tundish tune FILE:FUNCTION"
    )


def _compile_calls(module: torch.nn.Module, mode: str) -> None:
    """Compiles the calls of a module in place.

    Module.compile() compiles nothing if the class is one of torch's, such as Sequential.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)

    module._compiled_call_impl = torch.compile(run, mode=mode, dynamic=False)


def _parts(model: torch.nn.Module) -> list[torch.nn.Module]:
    """Returns the outermost modules that a training step calls.

    These are the model itself, or its children if the model has no forward() or is a LightningModule.
    """
    if type(model).forward is not torch.nn.Module.forward and not hasattr(model, "training_step"):
        return [model]
    children = [child for child in model.children() if any(True for _ in child.parameters())]
    return [part for child in children for part in _parts(child)]
