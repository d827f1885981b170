"""Detects side effects that a step must not have: a changed batch, or other results in eval mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ..batch_structure import map_tensors, tensors_of
from ..job import set_seeds
from ..preserved_state import write_values
from ..step import Step
from .observed_step import Observation, OutputRecorder, Point, Start

if TYPE_CHECKING:
    from .reference import Plain

CHANGED_BATCH = "the step overwrites the batch, which your loop may still need"


class BatchCopies:
    """Copies of batches, to detect steps that write to the batches."""

    def __init__(self, points: list[Point]) -> None:
        self._points = points
        self._copies = [copy_batch(point.batch) for point in points]

    def restore(self) -> bool:
        """Restores the batches in place. Returns whether a batch was changed."""
        changed = False
        for point, copy in zip(self._points, self._copies):
            for tensor, before in zip(tensors_of(point.batch), tensors_of(copy)):
                if not _same(tensor, before):
                    changed = True
                    with torch.no_grad():
                        write_values(tensor, before)
        return changed


def copy_batch(batch: Any) -> Any:
    return map_tensors(lambda tensor: tensor.detach().clone(), batch)


def fault_in_eval_mode(step: Step, plain: Plain) -> tuple[str, str]:
    """Compares the outputs in eval mode bit by bit with the outputs of the plain model.

    Returns a sentence about the first difference, and a note. Both are empty if all bits are equal.
    """
    usual: list[list[Observation]] = []
    try:
        for _ in range(2):
            usual.append([_outputs(plain.step(), plain.start, point) for point in plain.points])
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        return "", f"not compared in eval mode, where the plain model fails ({_first_line(error)})"
    if any(_difference(a, b) for a, b in zip(*usual)):
        return (
            "",
            "not compared in eval mode, where the plain model is not deterministic",
        )
    for point, expected in zip(plain.points, usual[0]):
        try:
            name = _difference(_outputs(step, plain.start, point), expected)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            return f"the model fails in eval mode ({_first_line(error)})", ""
        if name:
            return f"{name} of the model in eval mode is not bitwise equal", ""
    return "", ""


def _outputs(step: Step, start: Start, point: Point) -> Observation:
    """Returns the outputs of one forward pass in eval mode, on a copy of the batch."""
    batch = copy_batch(point.batch)
    recorder = OutputRecorder(step.model)
    try:
        start.restore(step.model)
        set_seeds(point.seed)
        with in_eval_mode(step.model), torch.no_grad():
            step.forward(batch)
        return {name: tensor.clone() for name, tensor in recorder.outputs()}
    finally:
        recorder.end()


@contextmanager
def in_eval_mode(model: torch.nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _difference(seen: Observation, expected: Observation) -> str:
    for name in dict.fromkeys([*expected, *seen]):
        if name not in seen or name not in expected or not _same(seen[name], expected[name]):
            return name
    return ""


def _same(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    if tensor.dtype != other.dtype or tensor.shape != other.shape:
        return False
    return bool(torch.all((tensor == other) | ((tensor != tensor) & (other != other))))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
