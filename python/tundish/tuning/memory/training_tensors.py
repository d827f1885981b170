"""What modules and optimisers own: parameters, buffers, gradients and state."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy


def find_owners() -> list[Any]:
    """Every module and optimiser of this process: a function does not say which it trains."""
    kinds = (torch.nn.Module, torch.optim.Optimizer)
    # By type(): isinstance() would ask objects that answer for another one, and wake those.
    return [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]


def owned_tensors(owners: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Kind and tensors, some of which may be None or numbers: "optimizer" is an optimiser's state."""
    for owner in owners:
        if isinstance(owner, torch.optim.Optimizer):
            if (groups := getattr(owner, "param_groups", None)) is None:
                continue  # its __init__ failed
            parameters = [p for group in groups for p in group["params"]]
            for state in owner.state.values():
                yield "optimizer", list(state.values()) if isinstance(state, dict) else []
        elif "_parameters" in vars(owner):  # its __init__ is done
            parameters = list(owner.parameters(recurse=False))
            yield "buffers", _made(owner.buffers(recurse=False))
        else:
            continue
        parameters = _made(parameters)
        yield "parameters", parameters
        yield "gradients", [p.grad for p in parameters]


def _made(tensors: Iterable[Any]) -> list[Any]:
    """Without those of lazy modules that were never called, which have no memory yet."""
    return [one for one in tensors if not is_lazy(one)]
