"""Options of every optimizer of the engine, applied in the same pass over memory as the update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, SupportsFloat

import torch

from ..._c.errors import ArgumentError
from .ranges import check_at_least_0, check_betas


@dataclass(frozen=True)
class Options:
    """Keyword arguments that all optimizers share."""

    # maximum global gradient norm; 0 disables clipping, inf only records the norm
    max_norm: float = 0.0
    ema_decay: float = 0.0  # decay of the averaged weights in state[p]["ema"]; 0 disables averaging
    master_weights: bool = False  # keep fp32 copies of 16-bit parameters in state[p]["master"]
    stochastic_rounding: bool = False  # round 16-bit parameters at random; not with master_weights
    clear_gradients: bool = False  # fill gradients with zeros after the step
    capturable: bool = False  # no effect, because a CUDA graph can always record the step

    def keep_state(self, parameter: Any, state: dict[str, Any], active: bool) -> bool:
        """Returns whether the options add to the state of a parameter. `active`: whether it has a gradient.

        A weight that was never updated needs no average: its average is the weight itself.
        """
        average = self.ema_decay > 0 and (active or "ema" in state)
        is_rounded = parameter.dtype != torch.float32
        return average or (active and self.master_weights and is_rounded)


_WHOLE = {field.name for field in fields(Options)} - {"capturable"}


def read_options(owner: str, given: dict[str, Any]) -> Options:
    known = {field.name for field in fields(Options)}
    for name in given:
        if name not in known:
            raise TypeError(f"{owner}.__init__() got an unexpected keyword argument {name!r}")
    options = Options(**{name: _value_of(owner, name, value) for name, value in given.items()})
    if not options.max_norm >= 0:
        raise ArgumentError(f"{owner}: max_norm must be 0 or more, not {options.max_norm}")
    if not 0 <= options.ema_decay < 1:
        raise ArgumentError(
            f"{owner}: ema_decay must be from 0 to below 1, not {options.ema_decay}"
        )
    if options.master_weights and options.stochastic_rounding:
        raise ArgumentError(
            f"{owner}: master_weights and stochastic_rounding cannot be combined\n"
            "  fix: leave out stochastic_rounding; fp32 weights lose no precision"
        )
    return options


def _value_of(owner: str, name: str, value: Any) -> Any:
    """Converts an option. None, which may come from a configuration file, turns the option off."""
    if name not in ("max_norm", "ema_decay"):
        return bool(value)
    if isinstance(value, str) or not isinstance(value or 0.0, SupportsFloat):
        raise TypeError(f"{owner}: {name} must be a number, not {value!r}")
    return float(value or 0.0)


def refuse_in_group(owner: str, group: Iterable[str]) -> None:
    """Refuses options in a parameter group if they can only apply to all parameters."""
    for name in group:
        if name in _WHOLE:
            raise ArgumentError(
                f"{owner}: a group has {name}, which applies to the whole optimizer\n"
                f"  fix: pass {owner}(..., {name}=...), or use one optimizer per group"
            )


class WithOptions:
    """Read-only properties for the options passed to the constructor."""

    _options: Options

    max_norm = property(lambda self: self._options.max_norm)
    ema_decay = property(lambda self: self._options.ema_decay)
    master_weights = property(lambda self: self._options.master_weights)
    stochastic_rounding = property(lambda self: self._options.stochastic_rounding)
    clear_gradients = property(lambda self: self._options.clear_gradients)


def refuse_variants(owner: str, **given: bool) -> None:
    """Refuses variants of torch's and timm's optimizers that the engine does not support."""
    for name, requested in given.items():
        if requested:
            raise ArgumentError(f"{owner}: {name}=True is not supported")


def refuse_variants_of(owner: str, group: dict[str, Any]) -> None:
    """Refuses unsupported variants in an added or loaded group."""
    names = ("amsgrad", "differentiable", "caution")
    refuse_variants(owner, **{name: bool(group.get(name)) for name in names})


def check_group(owner: str, group: dict[str, Any]) -> None:
    """Checks the options of a group as the constructor checks the defaults."""
    refuse_in_group(owner, group)
    refuse_variants_of(owner, group)
    names = {"lr", "eps", "momentum", "weight_decay"} & group.keys()
    check_at_least_0(owner, **{name: group[name] for name in sorted(names)})
    if "betas" in group:
        check_betas(owner, group["betas"])
