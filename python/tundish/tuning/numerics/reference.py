"""The plain step, without tricks: its fp64 reference, fp32 noise floor and exact optimizer updates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..batch_structure import nudged
from ..job import Job
from ..step import Step
from .floor import Errors, errors_of, update_errors
from .observed_step import (
    Observation,
    OutputRecorder,
    Point,
    Start,
    observe,
    observe_in_fp64,
    points_of,
    whole_points,
)
from .side_effects import BatchCopies

MakeJob = Callable[[], Job]
USABLE_BELOW = 1e-3  # if fp32 and fp64 outputs differ by more, fp64 ran a different computation
NUDGED_INPUTS = NUDGED_WEIGHTS = 3
_STAND_IN_RATE = 1e-3


class Plain:
    """The job without tricks in fp32, with its initial weights and its fp64 reference."""

    def __init__(self, make: MakeJob, seed: int, samples: int, accumulate: int) -> None:
        self.notes: list[str] = []
        self.accumulate = accumulate
        self._job, self._exact = make(), make()
        for job in (self._job, self._exact):
            replace_zero_rates(job.optimizer)
        self.start = Start.of(self._job.model)
        self.optimizer_state = copy.deepcopy(self._job.optimizer.state_dict())
        self._optimizer = ExactOptimizer(self._exact, self.optimizer_state)
        self.points = points_of(self._job, seed, samples)
        self.changes_batch = False
        self.eager = self._first_run(seed)
        self.reference = self._make_reference()
        self.floor, self.deterministic = self._make_floor()

    def _first_run(self, seed: int) -> list[Observation]:
        try:
            return self._run(self.points, self.start)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            self.points = whole_points(self._job, seed)
            seen = self._run(self.points, self.start)
            self.notes.append(
                f"the batch could not be cut ({_first_line(error)}); it is used whole"
            )
            return seen

    def _make_reference(self) -> list[Observation] | None:
        try:
            exact = [
                observe_in_fp64(self._exact, self.start, point, self.accumulate)
                for point in self.points
            ]
        except Exception as error:
            self.notes.append(
                f"no fp64 reference: the step does not run in fp64 ({_first_line(error)}); "
                "compared with strict fp32"
            )
            return None
        for seen, reference in zip(self.eager, exact):
            errors = errors_of(seen, reference).error
            off = max(errors[name] for name in errors if name.startswith(("loss", "output")))
            if not off < USABLE_BELOW:
                self.notes.append(
                    f"no fp64 reference: in fp64 the outputs differ by {off:.1e}, so it draws other random "
                    "numbers there or computes in lower precision here; compared with strict fp32"
                )
                return None
        return exact

    def _make_floor(self) -> tuple[Errors, bool]:
        floor = Errors()
        if self.reference is not None:
            floor.merge(self.compare(self.eager, self.start))
        twin = self._run(self.points, self.start)
        floor.merge(self.compare(twin, self.start))
        for i in range(NUDGED_INPUTS):
            points = [Point(nudged(point.batch, i + 1), point.seed) for point in self.points]
            floor.merge(self.compare(self._run(points, self.start), self.start))
        for i in range(NUDGED_WEIGHTS):
            start = Start(nudged(self.start.parameters, i + 1), self.start.buffers)
            floor.merge(self.compare(self._run(self.points, start), start))
        return floor, all(same_bits(a, b) == "" for a, b in zip(self.eager, twin))

    def compare(self, run: Iterable[Observation], start: Start, skip: int = 0) -> Errors:
        """Returns the largest errors over the steps of a run, without the first `skip` steps.

        The run may be a generator, so that only one step is in memory at a time.
        """
        out, exact = Errors(), self.reference or self.eager
        self._optimizer.begin()
        for i, seen in enumerate(run):
            expected = self._optimizer.update_for(start, seen)
            if i >= skip:
                out.merge(errors_of(seen, exact[i % len(exact)]))
                out.merge(update_errors(seen, start.parameters, expected))
        return out

    def _run(self, points: list[Point], start: Start) -> list[Observation]:
        self._job.optimizer.load_state_dict(copy.deepcopy(self.optimizer_state))
        step = self.step()
        step.accumulate = self.accumulate
        batches = BatchCopies(points)
        recorder = OutputRecorder(step.model)
        try:
            return [observe(step, recorder, start, point) for point in points]
        finally:
            recorder.end()
            self.changes_batch |= batches.restore()

    def step(self) -> Step:
        return Step(self._job.model, self._job.optimizer, self._job.loss_fn)


class ExactOptimizer:
    """The user's optimizer in fp64, which computes the exact updates for given gradients."""

    def __init__(self, job: Job, state: dict[str, Any]) -> None:
        self.job, self._state = job, state
        job.model.double()
        if isinstance(job.loss_fn, torch.nn.Module):
            job.loss_fn.double()

    def begin(self) -> None:
        self.job.optimizer.load_state_dict(copy.deepcopy(self._state))

    def update_for(self, start: Start, seen: Observation) -> dict[str, torch.Tensor]:
        start.restore(self.job.model)
        trained = {id(p) for group in self.job.optimizer.param_groups for p in group["params"]}
        named = [(n, p) for n, p in self.job.model.named_parameters() if id(p) in trained]
        for name, parameter in named:
            gradient = seen.get(f"gradient of {name}")
            parameter.grad = None if gradient is None else gradient.to(parameter.dtype)
        self.job.optimizer.step()
        return {name: p.detach() - start.parameters[name].double() for name, p in named}


def replace_zero_rates(optimizer: torch.optim.Optimizer) -> None:
    """Replaces learning rates of 0, which would hide the update. A warmup may start with 0."""
    for group in optimizer.param_groups:
        if float(group["lr"]) == 0.0:
            group["lr"] = _STAND_IN_RATE


def same_bits(seen: Observation, other: Observation) -> str:
    """Returns the name of the first tensor whose bits differ, or an empty string."""
    for name in dict.fromkeys([*other, *seen]):
        a, b = seen.get(name), other.get(name)
        if a is None or b is None:
            present = a if a is not None else b
            same = present is None or not bool(torch.any(present != 0))
        else:
            same = a.dtype == b.dtype and a.shape == b.shape
            same = same and bool(torch.all((a == b) | (torch.isnan(a) & torch.isnan(b))))
        if not same:
            return name
    return ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
