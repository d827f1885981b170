"""Muon: torch.optim.Muon, with matrices of the same shape processed together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .._c.errors import ArgumentError
from ._binding.engine_calls import is_on_gpu
from ._binding.ranges import check_at_least_0
from ._binding.saved_state import checked_load
from ._binding.tensor_checks import (
    check_gradient_place,
    fp32_number,
    name_of,
    refuse_duplicates,
)
from ._muon.matrix_stacks import Stack, StackPlan, facts_of, make_plan, release_stacks
from ._muon.newton_schulz import orthogonalize

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(torch.optim.Optimizer):  # type: ignore[misc]  # torch is Any to mypy
    """Muon that updates all matrices of the same shape together, a drop-in replacement for torch.optim.Muon.

    Arguments and state_dict are the same as torch's, plus the argument `maximize`. Use Muon for the matrices of
    hidden layers. Use another optimizer, such as tundish.optim.AdamW, for embeddings, the last layer, biases,
    norms and convolutions.
    """

    _step_supports_amp_scaling = True  # step() itself divides by the scale of a GradScaler

    _plans: list[StackPlan | None]  # by group; None: the next step makes the plan

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        self._plans = []
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
            "maximize": maximize,
        }
        _check_arguments(defaults)
        super().__init__(params, defaults)

    # --- torch's interface --------------------------------------------------------------------

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if len(self._plans) != len(self.param_groups):  # a group was added to the list directly
            self._reset_binding()
        for number in range(len(self.param_groups)):
            self._update(number)
        return loss

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        try:
            number = len(self.param_groups) - 1
            _check_arguments(self.param_groups[number])
            refuse_duplicates("Muon", self.param_groups, number)
            for place, parameter in enumerate(self.param_groups[number]["params"]):
                _check_matrix(parameter, name_of(self.param_groups, number, place))
        except (ValueError, TypeError):
            self.param_groups.pop()
            raise
        self._plans.append(None)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state_dict of this optimizer or of torch.optim.Muon."""
        with checked_load(self, state_dict):
            super().load_state_dict(state_dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        self._reset_binding()

    def _reset_binding(self) -> None:
        self._plans = [None] * len(self.param_groups)

    def _saved_names(self, group: dict[str, Any]) -> set[str]:
        return {"momentum_buffer"}

    # --- the step -----------------------------------------------------------------------------

    @torch._disable_dynamo  # type: ignore[untyped-decorator]  # compiled functions call it uncompiled
    def _update(self, number: int) -> None:
        group = self.param_groups[number]
        if getattr(self, "grad_scale", None) is not None:
            self._refuse_float16(number)
        try:
            plan = self._plan_for(number)
            for batch in plan.batches if plan is not None else ():
                self._update_batch(batch, group)
        except (RuntimeError, NotImplementedError, TypeError):
            self._check_gradients(
                number
            )  # raises an error that names the parameter, if a parameter is the cause
            raise

    def _plan_for(self, number: int) -> StackPlan | None:
        group = self.param_groups[number]
        active = [p for p in group["params"] if p.grad is not None and p.numel()]
        plan = self._plans[number]
        if plan is not None and plan.facts == facts_of(active, self.state):
            return plan
        self._plans[number] = None
        if not active:
            return None
        self._check_gradients(number)
        _check_arguments(group)
        plan = make_plan(active, self.state)
        active_ids = {id(p) for p in active}
        release_stacks([p for p in group["params"] if id(p) not in active_ids], self.state)
        self._plans[number] = plan
        return plan

    def _update_batch(self, batch: list[Stack], group: dict[str, Any]) -> None:
        device = batch[0].momentum.device
        # Both are None unless a GradScaler calls step(). The values stay on the device.
        scale, found_inf = (
            None if value is None else value.to(device, torch.float32).reshape(())
            for value in (getattr(self, "grad_scale", None), getattr(self, "found_inf", None))
        )
        skip = None if found_inf is None else found_inf != 0
        rate = _rate_on(device, group["lr"], skip)
        directions = [_advance_momentum(stack, group, scale, skip) for stack in batch]
        updates = orthogonalize(
            directions, tuple(group["ns_coefficients"]), group["ns_steps"], group["eps"]
        )
        for stack, update in zip(batch, updates):
            _apply(stack.parameters, update, rate, group)

    def _check_gradients(self, number: int) -> None:
        for place, p in enumerate(self.param_groups[number]["params"]):
            name = name_of(self.param_groups, number, place)
            _check_matrix(p, name)
            if p.grad is not None:
                check_gradient_place(p.grad, p, name)
            saved = self.state[p].get("momentum_buffer") if p in self.state else None
            if saved is not None and saved.shape != p.shape:
                raise ArgumentError(
                    f"the momentum of {name} has the shape {tuple(saved.shape)}, "
                    f"the parameter {tuple(p.shape)}"
                )

    def _refuse_float16(self, number: int) -> None:
        """Refuses float16 parameters, as torch's GradScaler does for such optimizers."""
        for place, p in enumerate(self.param_groups[number]["params"]):
            if p.dtype == torch.float16:
                raise ArgumentError(
                    f"{name_of(self.param_groups, number, place)} is float16: "
                    "its gradient divided by the GradScaler's scale may be 0\n"
                    "  fix: use float32 parameters with torch.autocast, or bfloat16 without a GradScaler"
                )


def _advance_momentum(stack: Stack, group: dict[str, Any], scale: Any, skip: Any) -> Any:
    """Updates the momentum. Returns the update directions in bfloat16, not orthogonalized yet."""
    gradients = stack.gradients()
    momentum = stack.momentum
    if scale is not None:
        gradients.mul_(scale.reciprocal().reshape(1))
    if group.get("maximize"):  # the groups of torch.optim.Muon have no such option
        gradients.neg_()
    if skip is not None:  # averaging the momentum with itself leaves it unchanged
        gradients = torch.where(skip, momentum, gradients)
    share = float(group["momentum"])
    momentum.lerp_(gradients, 1 - share)
    out = torch.empty_like(gradients, dtype=torch.bfloat16)
    if group["nesterov"]:
        return torch.lerp(gradients, momentum, share, out=out)
    return out.copy_(momentum)


def _apply(parameters: list[Any], update: Any, rate: Any, group: dict[str, Any]) -> None:
    """Computes p <- p - rate * weight_decay * p - rate * ratio * update."""
    ratio = _rate_ratio(group["adjust_lr_fn"], parameters[0].shape)
    if group["weight_decay"]:
        _multiply(parameters, 1 - rate * float(group["weight_decay"]))
    if isinstance(rate, float):
        torch._foreach_add_(parameters, list(update.unbind(0)), alpha=-rate * ratio)
        return
    # A one-dimensional tensor makes the product fp32; a scalar tensor would round it to bfloat16.
    scaled = update * (-rate * ratio).reshape(1)
    torch._foreach_add_(parameters, list(scaled.unbind(0)))


def _multiply(parameters: list[Any], factor: Any) -> None:
    """Multiplies by a factor near 1. A factor rounded to 16 bits could double the weight decay or drop it."""
    if parameters[0].dtype == torch.float32:
        torch._foreach_mul_(parameters, factor)
        return
    factor = factor if isinstance(factor, float) else factor.reshape(1)  # as in _apply
    for p in parameters:
        p.mul_(factor)


def _rate_on(device: Any, rate: Any, skip: Any) -> Any:
    """Returns the rate, which is 0 for a skipped step. It is a tensor if the host must not wait for it."""
    if not is_on_gpu(rate) and skip is None:
        return float(rate)
    if not isinstance(rate, torch.Tensor):
        rate = fp32_number(float(rate), device)
    rate = rate.to(device, torch.float32).reshape(())
    return rate if skip is None else rate.masked_fill(skip, 0.0)


def _rate_ratio(adjust_lr_fn: str | None, shape: Any) -> float:
    rows, columns = shape
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))


def _check_matrix(parameter: Any, name: str) -> None:
    if parameter.ndim != 2:
        raise ArgumentError(
            f"Muon is for matrices; {name} has the shape {tuple(parameter.shape)}\n"
            "  fix: use tundish.optim.AdamW for parameters that do not have two dimensions"
        )
    if not parameter.is_floating_point():
        raise ArgumentError(
            f"{name} is {str(parameter.dtype).removeprefix('torch.')}; "
            "parameters of Muon must be real floating-point numbers"
        )


def _check_arguments(group: dict[str, Any]) -> None:
    if isinstance(group["lr"], torch.Tensor) and group["lr"].numel() != 1:
        raise ValueError(f"Muon: lr is a tensor with {group['lr'].numel()} elements instead of one")
    names = ("momentum", "weight_decay", "eps")
    rate = (
        {} if is_on_gpu(group["lr"]) else {"lr": group["lr"]}
    )  # reading it would make the host wait
    check_at_least_0("Muon", **rate, **{name: group[name] for name in names})
    if group["adjust_lr_fn"] not in _ADJUSTMENTS:
        raise ValueError(
            f"Muon: adjust_lr_fn must be one of {_ADJUSTMENTS}, not {group['adjust_lr_fn']!r}"
        )
    if len(group["ns_coefficients"]) != 3:
        raise ValueError(f"Muon: ns_coefficients must be 3 numbers, not {group['ns_coefficients']}")
    if not 0 <= group["ns_steps"] < 100:
        raise ValueError(f"Muon: ns_steps must be from 0 to 99, not {group['ns_steps']}")
