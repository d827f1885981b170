"""Stacks of matrices for Muon: one tensor holds the momentum of all matrices of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..._c.errors import ArgumentError

# Maximum elements in one batch, which needs 4 bytes of work memory per element. Far fewer keep a GPU busy.
LARGEST_BATCH = 1 << 27


@dataclass
class Stack:
    """Matrices of the same shape, type and device in one parameter group."""

    parameters: list[Any]
    momentum: Any  # [count, rows, columns]; its slices are state[p]["momentum_buffer"]

    def gradients(self) -> Any:
        """Returns a copy of all gradients in one tensor."""
        stacked = torch.stack([p.grad for p in self.parameters])
        return stacked.to(self.momentum.dtype)


@dataclass
class StackPlan:
    """The stacks of one parameter group. The plan is valid as long as facts_of() returns `facts`."""

    facts: list[Any]
    batches: list[list[Stack]]  # stacks with the same shorter side, orthogonalized together
    buffers: list[Any]  # kept alive, so that their ids are not reused


def facts_of(parameters: list[Any], state: dict[Any, Any]) -> list[Any]:
    """Returns everything that a plan depends on."""
    return [
        (id(p), p.shape, p.dtype, p.device, p.grad.layout, *_place(state[p].get("momentum_buffer")))
        for p in parameters
    ]


def _place(buffer: Any) -> tuple[int, ...]:
    """Returns object and storage: users write `buffer.data = ...`, as to move states to a device."""
    if not isinstance(buffer, torch.Tensor) or buffer.layout != torch.strided:
        return (id(buffer),)
    return id(buffer), buffer.untyped_storage()._cdata


def make_plan(parameters: list[Any], state: dict[Any, Any]) -> StackPlan:
    """Moves the momentum of these parameters into stacks. All of them must have gradients."""
    if any(p.is_cuda for p in parameters) and torch.cuda.is_current_stream_capturing():
        raise ArgumentError(
            "Muon: a CUDA graph is being captured before the momentum exists; each replay would clear it\n"
            "  fix: run one step before the capture, with the same gradients present"
        )
    batches = []
    for batch in _split_into_batches(parameters):
        batches.append([_make_stack(matrices, state) for matrices in batch])
    buffers = [state[p]["momentum_buffer"] for p in parameters]
    return StackPlan(facts_of(parameters, state), batches, buffers)


def release_stacks(parameters: list[Any], state: dict[Any, Any]) -> None:
    """Copies the momentum of parameters without gradients out of the old stack, so that the stack can be freed."""
    for p in parameters:
        buffer = state[p].get("momentum_buffer") if p in state else None
        if buffer is not None and buffer.untyped_storage().nbytes() > buffer.nbytes:
            state[p]["momentum_buffer"] = buffer.clone()


def _split_into_batches(parameters: list[Any]) -> list[list[list[Any]]]:
    """Returns batches. A batch is a list of stacks, and a stack is a list of matrices of the same shape."""
    kinds: dict[Any, dict[Any, list[Any]]] = {}
    for p in parameters:
        stacks = kinds.setdefault((min(p.shape), p.device), {})
        stacks.setdefault((p.shape, p.dtype), []).append(p)
    out = []
    for stacks in kinds.values():
        batch: list[list[Any]] = []
        room = LARGEST_BATCH
        for matrices in stacks.values():
            size = matrices[0].numel()
            while matrices:
                if batch and room < size:
                    out.append(batch)
                    batch, room = [], LARGEST_BATCH
                count = max(1, room // size)
                batch.append(matrices[:count])
                room -= size * len(batch[-1])
                matrices = matrices[count:]
        out.append(batch)
    return out


def _make_stack(parameters: list[Any], state: dict[Any, Any]) -> Stack:
    first = parameters[0]
    momentum = torch.zeros((len(parameters), *first.shape), dtype=first.dtype, device=first.device)
    for p, part in zip(parameters, momentum.unbind(0)):
        saved = state[p].get("momentum_buffer")
        if saved is not None:
            part.copy_(saved)
        state[p]["momentum_buffer"] = part
    return Stack(parameters, momentum)
