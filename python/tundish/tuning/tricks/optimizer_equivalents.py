"""The optimizers of torch and timm that tundish.optim can replace, and how their states differ.

This module never imports timm. A program that uses timm's optimizers already has timm in sys.modules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Groups = list[dict[str, Any]]
States = dict[
    Any, dict[str, Any]
]  # keyed by the entries of a group's "params": parameters, or parameter numbers in a checkpoint
Convert = Callable[[Groups, States], None]  # changes both in place


def _nothing(groups: Groups, states: States) -> None:
    pass


@dataclass(frozen=True)
class OptimizerTwin:
    module: str
    name: str
    ours: str  # name in tundish.optim
    assumed: dict[str, Any] = field(default_factory=dict)  # options that only tundish.optim has
    refused: tuple[str, ...] = ()  # options that tundish.optim does not have
    arguments: tuple[str, ...] = ()  # constructor arguments found only in `defaults`
    to_ours: Convert = _nothing  # leaves entries that are converted already
    to_theirs: Convert = _nothing
    obstacle: Callable[[Any], str] = lambda optimizer: ""

    def make(self) -> type[Any]:
        """Returns the class in tundish.optim, adapted to groups that lack the options in `assumed`."""
        from ... import optim

        kind: type[Any] = getattr(optim, self.ours)
        assumed = self.assumed
        if not assumed:
            return kind

        class Adapted(kind):  # type: ignore[misc]  # the base is known only at run time
            def _fill(self, out: Any, group: dict[str, Any]) -> None:
                super()._fill(out, {**assumed, **group})

        Adapted.__name__ = kind.__name__
        return Adapted


def twin_of(optimizer: Any) -> OptimizerTwin | None:
    """Returns the equivalent of an optimizer, or None. A subclass has none, because it may do anything."""
    for twin in TWINS:
        if type(optimizer) is getattr(sys.modules.get(twin.module), twin.name, None):
            return twin
    return None


# --- step counts: tundish.optim keeps them in the states, as tensors shared by many parameters ----


def _count(steps: float) -> Any:
    """Returns a step count as torch stores it, whatever the default dtype and device are."""
    return torch.tensor(steps, dtype=torch.float32, device="cpu")


def _own_counts(groups: Groups, states: States) -> None:
    """Copies the step count for each parameter, because torch would increment a shared tensor repeatedly."""
    for group in groups:
        on_device = bool(group.get("fused") or group.get("capturable"))
        for key in group["params"]:
            state = states.get(key, {})
            count = state.get("step")
            if isinstance(count, torch.Tensor):
                device = _device_of(state) if on_device else "cpu"
                state["step"] = count.to(device, torch.float32, copy=True)


def _device_of(state: dict[str, Any]) -> Any:
    return next(
        (v.device for k, v in state.items() if k != "step" and isinstance(v, torch.Tensor)), "cpu"
    )


def _counts_from_groups(groups: Groups, states: States) -> None:
    """Copies the step counts from the groups to the states. timm's Lamb counts steps per group."""
    for group in groups:
        for key in group["params"]:
            if states.get(key) and "step" not in states[key]:
                states[key]["step"] = _count(float(group.get("step", 0)))


def _counts_to_groups(groups: Groups, states: States) -> None:
    for group in groups:
        found = [states.get(key, {}).pop("step", None) for key in group["params"]]
        counts = {
            id(count): count for count in found if count is not None
        }  # each distinct tensor once, because reading one waits for the GPU
        if counts:
            group["step"] = _count(max(map(float, counts.values())))


# --- other state formats --------------------------------------------------------------------------


def _norms(groups: Groups, states: States) -> None:
    """Converts the squared norms that timm's NovoGrad stores to norms."""
    for state in states.values():
        if "exp_avg_sq" in state and not isinstance(state.get("step"), torch.Tensor):
            square = state["exp_avg_sq"]
            state["exp_avg_sq"] = norm = square.sqrt()
            norm._square = square  # the bits that no step has changed
            state["step"] = _count(float(state.get("step", 0)))


def _squared_norms(groups: Groups, states: States) -> None:
    for state in states.values():
        if "exp_avg_sq" in state:
            norm = state["exp_avg_sq"]
            square = getattr(norm, "_square", None)
            is_old = square is not None and torch.equal(square.sqrt(), norm)
            state["exp_avg_sq"] = square if is_old else norm.square()
            state["step"] = int(state["step"])


def _own_momentum(groups: Groups, states: States) -> None:
    """Clones the momentum, because tundish.optim keeps matrices of one shape in one tensor."""
    for state in states.values():
        if "momentum_buffer" in state:
            state["momentum_buffer"] = state["momentum_buffer"].clone()


def _not_matrices(optimizer: Any) -> str:
    if all(p.ndim == 2 for group in optimizer.param_groups for p in group["params"]):
        return ""
    return "Muon has parameters that are not matrices"


_CAUTIOUS = ("caution", "corrected_weight_decay")  # a learning rate on the GPU cannot be corrected
_YOUNG = {"maximize": False, "corrected_weight_decay": False}  # missing in older timm versions

TWINS = (
    OptimizerTwin("torch.optim", "SGD", "SGD", refused=("differentiable",)),
    *(
        OptimizerTwin(
            "torch.optim",
            name,
            name,
            refused=("amsgrad", "differentiable"),
            to_theirs=_own_counts,
        )
        for name in ("Adam", "AdamW")
    ),
    OptimizerTwin("torch.optim", "Muon", "Muon", to_theirs=_own_momentum, obstacle=_not_matrices),
    OptimizerTwin("timm.optim.lion", "Lion", "Lion", assumed=_YOUNG, refused=_CAUTIOUS),
    OptimizerTwin("timm.optim.lars", "Lars", "LARS", assumed={"maximize": False}),
    OptimizerTwin(
        "timm.optim.lamb",
        "Lamb",
        "LAMB",
        assumed={"decoupled_decay": False, **_YOUNG},
        refused=_CAUTIOUS,
        arguments=("max_grad_norm",),
        to_ours=_counts_from_groups,
        to_theirs=_counts_to_groups,
    ),
    OptimizerTwin(
        "timm.optim.nvnovograd",
        "NvNovoGrad",
        "NovoGrad",
        assumed={
            "bias_correction": False,
            "reg_inside_moment": True,
            "init_zero": False,
            "maximize": False,
        },
        refused=("amsgrad",),
        to_ours=_norms,
        to_theirs=_squared_norms,
    ),
)
