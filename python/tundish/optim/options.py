"""What every optimiser of the engine can do in the same pass over memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from .._c.errors import ArgumentError


@dataclass(frozen=True)
class Options:
    """Keyword arguments that all optimisers share."""

    max_norm: float = 0.0  # limit of the norm of all gradients together; 0: none
    ema_decay: float = 0.0  # of an average of the weights, state[p]["ema"]; 0: none is kept
    master_weights: bool = False  # parameters of 16 bits get weights in fp32, state[p]["master"]
    stochastic_rounding: bool = False  # parameters of 16 bits without them are rounded at random
    clear_gradients: bool = False  # gradients are zeros after the step
    capturable: bool = False  # accepted from callers of torch's: a CUDA graph can record every step


def read_options(owner: str, given: dict[str, Any]) -> Options:
    known = {field.name for field in fields(Options)}
    for name in given:
        if name not in known:
            raise TypeError(f"{owner}.__init__() got an unexpected keyword argument {name!r}")
    options = Options(**given)
    if not (math.isfinite(options.max_norm) and options.max_norm >= 0):
        raise ArgumentError(f"{owner}: max_norm must be 0 or more, not {options.max_norm}")
    if not 0 <= options.ema_decay < 1:
        raise ArgumentError(
            f"{owner}: ema_decay must be from 0 to below 1, not {options.ema_decay}"
        )
    if options.master_weights and options.stochastic_rounding:
        raise ArgumentError(
            f"{owner}: master_weights and stochastic_rounding exclude each other\n"
            "  fix: weights in fp32 lose nothing; leave stochastic_rounding out"
        )
    return options


def refuse_variants(owner: str, **given: bool) -> None:
    """Variants of torch's and timm's optimisers that the engine does not have."""
    for name, wanted in given.items():
        if wanted:
            raise ArgumentError(f"{owner}: {name}=True is not supported")
