"""Restores a model after a run: gradients, buffers, random states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from ...tuning.numerics.preserved_state import write_values
from ..probe.random_states import random_states


@contextlib.contextmanager
def preserved(model: torch.nn.Module) -> Iterator[None]:
    """Restores gradients, buffers and random states on exit.

    Gradients are set to None inside the block, so that they do not accumulate. Parameters need no
    copy because no optimizer runs.
    """
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
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
