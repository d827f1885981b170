"""Finds the nondeterministic operations of a training step and the lines that call them.

torch warns about each such operation. In the forward pass, the user's line is on the stack when torch
warns. Autograd delays the warnings of the backward pass until its end, so this module runs the backward
pass node by node. The warnings of a node belong to the forward line that created the node.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..job import Job, step_and_batch
from ..preserved_state import unchanged
from ..source_lines import Line, current_line, line_of_traceback
from ..step import Step

_OPERATION = re.compile(r"^(.+?) (?:does not have a|defaults to a non-?)\s?deterministic")


Gradients = dict[int, torch.Tensor]  # gradients by output number of the node


@dataclass(frozen=True)
class NondeterministicOperation:
    """An operation without a deterministic algorithm, and the line of code that calls it.

    For an operation of the backward pass, this is the line of the corresponding forward operation.
    """

    operation: str  # name of the operation
    file: str  # file of the line
    line: int  # line number; 0 if the line is unknown
    text: str  # text of the line
    in_backward: bool = False  # whether the operation runs in the backward pass

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.text}" if self.line else "(unknown line)"
        return f"{self.operation}: {where}"


def find_nondeterministic(job: Job | Step, batch: Any = None) -> list[NondeterministicOperation]:
    """Finds the operations of a training step that have no deterministic algorithm.

    Runs the forward and backward pass of one batch. The result lists each operation once per line of
    code, in order of execution. The model, its gradients and all random generators stay unchanged.

    job    a Job, or a Step with the batch as second argument
    batch  batch to run; default: the first batch of the Job
    """
    step, batch = step_and_batch(job, batch)
    found: dict[NondeterministicOperation, None] = {}

    def add(text: str, line: Line, in_backward: bool) -> None:
        operation = NondeterministicOperation(
            operation_of(text), line.file, line.number, line.text, in_backward
        )
        found.setdefault(operation)

    with (
        unchanged(step.model),
        _warn_of_nondeterminism(),
        torch.autograd.set_detect_anomaly(True, check_nan=False),  # nodes record their lines
    ):
        with _collect_warnings(lambda text: add(text, current_line(), False)):
            loss = step.loss_of(step.as_channels_last(batch))
        for node, run in backward_nodes(loss):
            line = line_of_traceback(node.metadata.get("traceback_", []))
            with _collect_warnings(lambda text, line=line: add(text, line, True)):  # type: ignore[misc]
                run()
    return list(found)


def operation_of(text: str) -> str:
    """Returns the name of the operation that a torch warning is about."""
    found = _OPERATION.match(text)
    if found:
        return found[1]
    return "matrix product (cuBLAS)" if "CuBLAS" in text else text.split(".")[0]


def backward_nodes(
    loss: torch.Tensor, leaves: dict[Any, Gradients] | None = None
) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Yields (node, run) for each node of the backward pass, in a valid order of execution.

    Call `run()` before you request the next node. It runs this node only; torch.autograd.grad would
    also run other nodes. No hooks run, and no parameter's .grad is set. `leaves` receives the gradients
    of the parameters instead.
    """
    root = loss.grad_fn
    if root is None:
        return
    waits: Counter[Any] = Counter()
    seen, ahead = {root}, [root]
    while ahead:
        for following, _ in ahead.pop().next_functions:
            if following is not None:
                waits[following] += 1
                if following not in seen:
                    seen.add(following)
                    ahead.append(following)
    received: dict[Any, Gradients] = {root: {0: torch.ones_like(loss)}}
    ready = [root]
    while ready:
        node = ready.pop()
        gradients = received.pop(node, {})
        if not node.next_functions and leaves is not None:
            leaves[node] = gradients
        if gradients and node.next_functions:
            yield node, lambda node=node, gradients=gradients: _run(node, gradients, received)  # type: ignore[misc]
        for following, _ in node.next_functions:
            if following is not None:
                waits[following] -= 1
                if waits[following] == 0:
                    ready.append(following)


def _run(node: Any, gradients: Gradients, received: dict[Any, Gradients]) -> None:
    """Runs one node and adds its results to the gradients of the following nodes."""
    count = len(node._input_metadata)
    call = node.apply if isinstance(node, torch.autograd.function.BackwardCFunction) else node
    with torch.no_grad():
        results = call(*(gradients.get(number) for number in range(count)))
        results = results if isinstance(results, (tuple, list)) else (results,)
        for (following, number), result in zip(node.next_functions, results):
            if following is None or result is None:
                continue
            result = _fitted(result, following, number)
            sums = received.setdefault(following, {})
            sums[number] = sums[number] + result if number in sums else result


def _fitted(gradient: torch.Tensor, node: Any, number: int) -> torch.Tensor:
    """Converts a gradient to the shape and then the type of a node's input, as autograd's engine does."""
    if gradient.is_sparse or node.name() == "torch::autograd::AccumulateGrad":
        return gradient
    wanted = node._input_metadata[number]
    if gradient.shape != wanted.shape:
        gradient = gradient.sum_to_size(wanted.shape)
    return gradient.to(wanted.dtype)


@contextlib.contextmanager
def _warn_of_nondeterminism() -> Iterator[None]:
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@contextlib.contextmanager
def _collect_warnings(note: Callable[[str], None]) -> Iterator[None]:
    """Calls `note` with the text of each nondeterminism warning, at the moment torch issues it."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        if "deterministic" in str(message):
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
