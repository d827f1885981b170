"""Gradient checkpointing for one module: a forward pass that keeps only its inputs and can run again.

Wraps torch.utils.checkpoint and adds three things. Running statistics are updated once instead of twice.
The second pass repeats the random numbers of Python and NumPy as well as torch's. Blocks that overwrite
an input or change a buffer raise an error, because their gradients would silently differ.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from ..._c.errors import ArgumentError
from ..._process.random_state import PythonRandomState
from ..batch_structure import tensors_of

# Tensors with their versions, which every write in place increases.
Versions = list[tuple[torch.Tensor, int]]
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


class RecomputedForward:
    """Replaces `module.forward`. This is a class, not a closure, so that the model can be copied."""

    def __init__(self, name: str, module: torch.nn.Module) -> None:
        self.name, self.module, self.forward = name, module, module.forward
        self._checked: set[bool] = set()  # values of module.training that have been checked
        self._draws = False  # whether the module drew random numbers on the GPU

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if not torch.is_grad_enabled():
            return self.forward(*inputs, **keywords)
        inputs, keywords = copied(inputs), copied(keywords)  # others may change their lists later
        run = functools.partial(self.forward, **keywords)
        if torch.compiler.is_compiling():
            # The compiler recomputes values only; the forward pass alone writes statistics.
            return checkpoint(run, *inputs, use_reentrant=False)
        given = (inputs, keywords)
        before = copied(given)
        versions = versions_of(given)
        is_checked = self.module.training in self._checked
        buffers = [] if is_checked else changing_buffers(self.module)
        capturing = torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
        if capturing and self._draws:
            raise RuntimeError(
                f"{self.name} draws random numbers, which a CUDA graph cannot repeat under checkpointing"
            )
        state = None if capturing or self._draws else self._generator()
        # torch checks the tensors that are arguments themselves.
        held = [(t, version) for t, version in versions if not any(t is one for one in inputs)]
        out = checkpoint(
            run,
            *inputs,
            use_reentrant=False,
            preserve_rng_state=not capturing,  # a capture may not read the generator
            context_fn=functools.partial(self._contexts, held),
        )
        if state is not None:
            self._draws = not torch.equal(state, self._generator())
        if not holds_same(before, given):
            raise ArgumentError(
                f"{self.name} changes a list or dict that it is given, twice under checkpointing\n"
                "  fix: leave this block out"
            )
        self._refuse_changes(versions, buffers)
        return out

    def _generator(self) -> Any:
        """Returns the state of the GPU's generator, or None for a module on the CPU."""
        for parameter in self.module.parameters():
            return torch.cuda.get_rng_state(parameter.device) if parameter.is_cuda else None
        return torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None

    def _contexts(self, held: Versions) -> tuple[Any, Any]:
        """Returns the contexts of the forward pass and of the repeated pass."""
        return contextlib.nullcontext(), self._repeating(held, PythonRandomState())

    @contextlib.contextmanager
    def _repeating(self, held: Versions, generators: PythonRandomState) -> Iterator[None]:
        if is_overwritten(held):
            raise ArgumentError(
                f"{self.name} was given a tensor that is overwritten before the backward pass, in which "
                "checkpointing needs it a second time\n"
                "  fix: leave this block out, or make the operation that overwrites it not in-place"
            )
        with _repeating(self.module, generators):
            yield

    def _refuse_changes(self, versions: Versions, buffers: list[Any]) -> None:
        if is_overwritten(versions):
            raise ArgumentError(
                f"{self.name} overwrites its input, which checkpointing needs a second time\n"
                "  fix: leave this block out, or make its first operation not in-place"
            )
        for name, tensor, version in buffers:
            if tensor._version != version:
                raise ArgumentError(
                    f"{self.name} changes its buffer {name} in every forward pass, twice under checkpointing\n"
                    "  fix: leave this block out"
                )
        self._checked.add(self.module.training)


def versions_of(given: Any) -> Versions:
    return [(t, t._version) for t in tensors_of(given) if not t.is_inference()]


def is_overwritten(versions: Versions) -> bool:
    return any(tensor._version != version for tensor, version in versions)


def copied(given: Any) -> Any:
    """Returns a copy of lists, tuples and dicts, at every depth, with the same values."""
    if type(given) in (list, tuple):
        return type(given)(map(copied, given))
    if type(given) is dict:
        return {key: copied(value) for key, value in given.items()}
    return given


def holds_same(one: Any, other: Any) -> bool:
    """Returns whether the lists, tuples and dicts of two copies hold the same objects."""
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(holds_same, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(map(holds_same, one.values(), other.values()))
    return one is other


def norms_of(module: torch.nn.Module) -> list[torch.nn.Module]:
    """Returns the normalization layers whose running statistics must be updated only once."""
    return [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._NormBase)]


def changing_buffers(module: torch.nn.Module) -> list[tuple[str, torch.Tensor, int]]:
    """Returns (name, buffer, version) of each buffer that a repeated forward pass must not change."""
    handled = {id(m._buffers[key]) for m in norms_of(module) for key in m._buffers}
    return [
        (name, buffer, buffer._version)
        for name, buffer in module.named_buffers()
        if id(buffer) not in handled
    ]


@contextlib.contextmanager
def _repeating(module: torch.nn.Module, generators: PythonRandomState) -> Iterator[None]:
    """Context manager for the second pass.

    Running statistics are written to copies, and the random numbers of the first pass are repeated.
    """
    kept = [
        (norm, key, norm._buffers[key])
        for norm in norms_of(module)
        for key in _STATISTICS
        if norm.training and norm._buffers.get(key) is not None
    ]
    now = PythonRandomState()
    for norm, key, buffer in kept:
        norm._buffers[key] = buffer.clone()
    generators.restore()
    try:
        yield
    finally:
        now.restore()
        for norm, key, buffer in kept:
            norm._buffers[key] = buffer
