"""Tensors that modules and optimizers own: parameters, buffers, gradients and state."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy


def find_owners() -> list[Any]:
    """Returns every module and optimizer of this process."""
    kinds = (torch.nn.Module, torch.optim.Optimizer)
    # Uses type(), because isinstance() reads `__class__`, which would load lazy proxy objects.
    return [found for found in gc.get_objects() if issubclass(type(found), kinds)]


def owned_tensors(owners: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yields (kind, tensors) for each module and optimizer. Some values may be None or numbers.

    The kind "optimizer" stands for the state of an optimizer.
    """
    for owner in owners:
        if isinstance(owner, torch.optim.Optimizer):
            if (groups := getattr(owner, "param_groups", None)) is None:
                continue  # its __init__ failed
            parameters = [p for group in groups for p in group["params"]]
            for state in owner.state.values():
                yield "optimizer", list(state.values()) if isinstance(state, dict) else []
        elif "_parameters" in vars(owner):  # Module.__init__ has run
            parameters = list(owner.parameters(recurse=False))
            yield "buffers", _made(owner.buffers(recurse=False))
        else:
            continue
        parameters = _made(parameters)
        yield "parameters", parameters
        yield "gradients", [p.grad for p in parameters]


def _made(tensors: Iterable[Any]) -> list[Any]:
    """Omits tensors of lazy modules that have not been called; they have no memory yet."""
    return [tensor for tensor in tensors if not is_lazy(tensor)]
