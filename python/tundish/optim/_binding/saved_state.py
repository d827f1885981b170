"""Checks whether a saved state belongs to an optimizer, and restores its precision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import torch

from ..._c.errors import ArgumentError
from .step_options import refuse_variants_of
from .tensor_checks import name_of

_SHARED = {"step", "master", "ema"}

# Names of states that optimizers of torch, timm and Apex keep. Others may come from a wrapper such as timm's Lookahead.
_OF_OPTIMIZERS = {
    *("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "mu_product"),
    *("square_avg", "grad_avg", "acc_delta", "sum", "eta", "mu", "ax", "prev", "step_size", "RMS"),
    *("row_var", "col_var", "variance", "exp_avg_sq_row", "exp_avg_sq_col", "exp_hessian_diag_sq"),
    *("grad_sum_sq", "s", "x0", "z", "last_grad", "exp_avg_lr_1", "exp_avg_lr_2", "Q", "GG"),
}

_IN_FP32 = (_OF_OPTIMIZERS | _SHARED) - {"step"}

# Names in every group of an optimizer saved by torch, timm, Apex or Tundish.
_ALWAYS = {
    "sgd": ("momentum", "dampening"),
    "adam": ("betas", "eps"),
    "adamw": ("betas", "eps"),
    "lion": ("betas",),
    "lars": ("momentum", "trust_coeff"),
    "lamb": ("betas", "grad_averaging", "bias_correction"),
    "novograd": ("betas", "grad_averaging", "norm_type"),
    "muon": ("momentum", "ns_steps"),
}
# Names that identify an optimizer. Names outside this list may come from the user or a scheduler.
_IDENTIFYING = (
    *(
        "eps",
        "dampening",
        "trust_coeff",
        "trust_clip",
        "grad_averaging",
        "ns_steps",
        "norm_type",
        "reg_inside_moment",
    ),
    *("momentum_decay", "alpha", "rho", "lr_decay", "lambd", "etas", "final_lr"),
)


@contextlib.contextmanager
def removed_after(*hooks: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def checked_load(
    optimizer: Any,
    given: Any,
    prepare: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None,
) -> Iterator[None]:
    """Context manager around torch's load_state_dict(given).

    Prepares and checks the state after the user's pre-hooks. Restores fp32 states before the user's post-hooks.
    """
    owner = type(optimizer).__name__
    if not isinstance(given, dict):
        check_form(owner, given)
    loaded: list[dict[str, Any]] = []

    def check(_: Any, saved: Any) -> dict[str, Any]:
        check_form(owner, saved)
        loaded.append(saved if prepare is None else prepare(owner, saved))
        check_state(optimizer, loaded[0])
        return loaded[0]

    def restore(_: Any) -> None:
        if getattr(optimizer, "_kind", ""):  # not for Muon, whose states have the parameter's dtype
            restore_fp32(optimizer, loaded[0])

    last = optimizer.register_load_state_dict_pre_hook(check)
    first = optimizer.register_load_state_dict_post_hook(restore, prepend=True)
    with removed_after(last, first):
        yield


def check_state(optimizer: Any, saved: dict[str, Any]) -> None:
    """Refuses the state of a different optimizer. torch would detect it only in the next step, or never."""
    owner, groups = type(optimizer).__name__, optimizer.param_groups
    for number, group in enumerate(saved["param_groups"]):
        _check_group(optimizer, group, number)
        refuse_variants_of(f"{owner}: the saved state", group)
        if "bias_correction" not in optimizer.defaults and group.get("bias_correction") is False:
            raise ArgumentError(
                f"{owner}: the state was saved with bias_correction=False, which is not supported"
            )
        expected = optimizer._saved_names({**optimizer.defaults, **group})
        for place, key in enumerate(group["params"]):
            state = saved["state"].get(key) or {}
            given = {name for name, value in state.items() if value is not None}
            found = (given - _SHARED) & (_OF_OPTIMIZERS | expected)
            # An unused momentum buffer is kept, as in torch.
            if not found or found == expected or (not expected and found == {"momentum_buffer"}):
                continue
            raise ArgumentError(
                f"{owner}: the saved state of {name_of(groups, number, place)} has "
                f"{', '.join(sorted(found))} instead of {', '.join(sorted(expected)) or 'no entries'}: "
                "it is the state of another optimizer"
            )


def check_form(owner: str, saved: Any) -> None:
    if not (isinstance(saved, dict) and {"state", "param_groups"} <= saved.keys()):
        raise ArgumentError(
            f"{owner}: this is not the state of an optimizer: it has no 'state' and 'param_groups'\n"
            "  fix: pass the entry of the checkpoint in which optimizer.state_dict() was saved"
        )


def _check_group(optimizer: Any, group: dict[str, Any], number: int) -> None:
    """Checks a group by its names, which identify the optimizer even without states."""
    owner, kind = type(optimizer).__name__, getattr(optimizer, "_kind", "muon")
    missing = [name for name in _ALWAYS[kind] if name not in group]
    if kind in ("adam", "adamw") and not {"amsgrad", "bias_correction"} & group.keys():
        missing.append("amsgrad")  # RAdam, for example
    groups = optimizer.param_groups  # with options that the user or a wrapper such as SAM put there
    own = optimizer.defaults.keys() | (groups[number].keys() if number < len(groups) else set())
    foreign = [name for name in _IDENTIFYING if name in group and name not in own]
    reason = ""
    if timms := _timms_variant(kind, group):
        reason = timms
    elif missing or foreign:
        reason = f"has no {missing[0]}" if missing else f"has {foreign[0]}"
    elif kind == "adamw" and group.get("decoupled_weight_decay") is False:
        reason = "belongs to Adam: decoupled_weight_decay is False"
    elif getattr(optimizer, "_always_adapts", False) and group.get("always_adapt") is False:
        reason = "belongs to LAMB: always_adapt is False"
    if reason:
        raise ArgumentError(
            f"{owner}: group {number} of the saved state {reason}: it is the state of another optimizer\n"
            "  fix: load it into that optimizer, or start with fresh states"
        )


def _timms_variant(kind: str, group: dict[str, Any]) -> str:
    """Identifies a timm optimizer whose states have the same names but a different meaning."""
    if {"grad_averaging", "amsgrad"} <= group.keys() and "norm_type" not in group:
        return "belongs to timm's NvNovoGrad, whose exp_avg_sq is the square of a norm"
    if kind in ("sgd", "adam") and {"caution", "corrected_weight_decay"} & group.keys():
        return "belongs to timm's SGDW or AdamWLegacy, which decouple the weight decay"
    if kind == "adamw" and group.get("corrected_weight_decay"):
        return "was saved with corrected_weight_decay=True, which AdamW does not have"
    return ""


def restore_fp32(optimizer: Any, saved: dict[str, Any]) -> None:
    """Restores fp32 states, which torch casts to the parameter's dtype while loading."""
    keys = chain.from_iterable(group["params"] for group in saved["param_groups"])
    parameters = chain.from_iterable(group["params"] for group in optimizer.param_groups)
    for key, parameter in zip(keys, parameters):
        if parameter.dtype == torch.float32:
            continue
        for name, value in saved["state"].get(key, {}).items():
            if isinstance(value, torch.Tensor) and name in _IN_FP32:
                fp32 = value.to(device=parameter.device, dtype=torch.float32)
                optimizer.state[parameter][name] = fp32
