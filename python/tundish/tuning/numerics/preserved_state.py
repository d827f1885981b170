"""Runs a model without changing its buffers, gradients, mode or random numbers."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class RandomState:
    """A snapshot of the generators of Python, NumPy and torch."""

    python: Any = field(default_factory=random.getstate)
    numpy: Any = field(default_factory=lambda: _numpy_state())
    cpu: Any = field(default_factory=torch.get_rng_state)
    gpus: Any = field(default_factory=lambda: _gpu_states())

    def restore(self) -> None:
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)
        torch.set_rng_state(self.cpu)
        if self.gpus is not None:
            torch.cuda.set_rng_state_all(self.gpus)


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.random.get_state()


def _gpu_states() -> Any:
    """Returns the states, or None before the first use of CUDA: reading them would initialize CUDA."""
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None


def write_values(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """tensor.copy_(values), also for a tensor of expand(), many elements of which are one in memory."""
    for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor, values = tensor.narrow(dimension, 0, 1), values.narrow(dimension, 0, 1)
    tensor.copy_(values)


@contextlib.contextmanager
def unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Restores buffers, gradients, modes and generators of the model after the block.

    Gradients are None inside the block. Parameters are not saved, so the block must not train.
    """
    state = RandomState()
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, kept in buffers:
                write_values(buffer, kept)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, training in modes:
            module.training = training
        state.restore()
