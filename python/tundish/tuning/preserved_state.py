"""Runs a model without changing its buffers, gradients, mode or random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from .._process.random_state import RandomState


def write_values(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Copies values like tensor.copy_(values), but also into expanded tensors, whose elements share memory."""
    for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor, values = tensor.narrow(dimension, 0, 1), values.narrow(dimension, 0, 1)
    tensor.copy_(values)


@contextlib.contextmanager
def unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Context manager that restores the model's buffers, gradients and modes, and all random generators.

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
