"""A model that is put back after it was run: gradients, buffers, random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from ...tuning.numerics.preserved_state import write_values
from ..probe.random_states import random_states


@contextlib.contextmanager
def unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Parameters stay, because no optimizer runs. Gradients are taken away meanwhile, so that none are added up."""
    gradients = [(one, one.grad) for one in model.parameters()]
    buffers = [(one, one.detach().clone()) for one in model.buffers()]
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    restore = random_states(None)
    try:
        for parameter, _ in gradients:
            parameter.grad = None
        yield
    finally:
        restore()
        for number, state in enumerate(on_gpus):
            torch.cuda.set_rng_state(state, number)
        with torch.no_grad():
            for buffer, before in buffers:
                write_values(buffer, before)
        for parameter, gradient in gradients:
            parameter.grad = gradient
