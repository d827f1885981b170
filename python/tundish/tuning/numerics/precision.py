"""Checks tricks in lower precision (TF32, bf16, fp16) after one step.

Errors in low precision are larger than fp32 noise by design, so single tensors are not compared. Tricks
that are combined with low precision have been checked in fp32 before. Faults that only appear during
training are found by comparing loss curves (band.py).
"""

from __future__ import annotations

import math

import torch

from ..step import Step
from ..tricks import Grade, Trick
from ..tricks.tf32 import Flags, set_flags
from .gate import Candidate, GateResult, warm_up_steps
from .observed_step import (
    Observation,
    OutputRecorder,
    Point,
    Start,
    observe,
    points_of,
    whole_points,
)
from .overflow import overflow_of, scale_of
from .reference import MakeJob, replace_zero_rates
from .side_effects import CHANGED_BATCH, BatchCopies

# Limits for the norm of all gradients relative to fp32. Measured values: 0.994 to 1.004 with bf16, 0.5 with
# a loss that is divided twice.
SMALLEST_NORM, LARGEST_NORM = 0.8, 1.25
MOST_STEPS = 16  # steps until the scaler finds a scale without overflow: 2^16 down to 1


def gate_precision(make: MakeJob, tricks: list[Trick], seed: int, samples: int) -> GateResult:
    """Checks one step for finite values, expected dtypes, the gradient norm and compiled graphs."""
    grade = Grade.STATISTICAL.value
    candidate = Candidate(make, tricks)
    try:
        start = Start.of(candidate.job.model)
        obstacle = candidate.apply()
        if obstacle:
            return GateResult(False, grade, obstacle, obstacle=obstacle)
        plain, point = plain_step(make, start, candidate.step, seed, samples)
        batches = BatchCopies([point])
        seen, scales = run_until_kept(candidate.step, start, point)
        changed = batches.restore()
        result = GateResult(True, grade, "", reference="fp32", graphs=candidate.graphs())
        if scales:
            result.overflow = overflow_of(scales).as_json()
        result.sentence, result.worst = first_fault(candidate, seen, plain, scales)
        if changed and not result.sentence:
            result.sentence = CHANGED_BATCH
        result.passed = not result.sentence
        if result.passed:
            result.sentence = "values are finite, number types and gradient norm as expected"
        return result
    finally:
        candidate.end()


def plain_step(
    make: MakeJob, start: Start, like: Step, seed: int, samples: int
) -> tuple[Observation, Point]:
    """Runs the step without tricks in strict fp32. Returns its results and the point: batch and seed."""
    job = make()
    replace_zero_rates(job.optimizer)
    step = Step(job.model, job.optimizer, job.loss_fn)
    step.accumulate, step.max_norm = like.accumulate, like.max_norm
    recorder = OutputRecorder(job.model)
    kept = Flags()
    set_flags(False, False)  # the candidate may have turned TF32 on
    try:
        try:
            point = points_of(job, seed, samples)[0]
            return observe(step, recorder, start, point), point
        except torch.OutOfMemoryError:
            raise
        except Exception:  # the batch cannot be sliced
            point = whole_points(job, seed)[0]
            return observe(step, recorder, start, point), point
    finally:
        kept.restore()
        recorder.end()


def run_until_kept(step: Step, start: Start, point: Point) -> tuple[Observation, list[float]]:
    """Runs steps until the gradient scaler does not skip one. Returns its results and the scales.

    Warm-up steps of a CUDA graph do not count. The list of scales contains the scale before the first step
    and after each step. It is empty without a scaler.
    """
    recorder = OutputRecorder(step.model)
    scales = [] if step.scaler is None else [scale_of(step.scaler)]
    try:
        for i in range(warm_up_steps(step) + MOST_STEPS):
            seen = observe(step, recorder, start, point)
            if step.scaler is not None:
                scales.append(scale_of(step.scaler))
            if i >= warm_up_steps(step) and not skipped_last(scales):
                break
        return seen, scales
    finally:
        recorder.end()


def skipped_last(scales: list[float]) -> bool:
    return len(scales) > 1 and scales[-1] < scales[-2]


def first_fault(
    candidate: Candidate, seen: Observation, plain: Observation, scales: list[float]
) -> tuple[str, str]:
    """Returns the first fault and the name of its tensor, or two empty strings."""
    if candidate.not_compiled():
        return "torch.compile compiled nothing: the step ran eagerly", ""
    if skipped_last(scales):
        return f"gradients overflow at every scale down to {scales[-1]:g}", ""
    for name, tensor in seen.items():
        usual = plain.get(name)
        if usual is None:
            return f"{name} does not exist in the plain step", name
        if not bool(torch.isfinite(tensor).all()) and bool(torch.isfinite(usual).all()):
            return f"{name} is not finite", name
    # Outputs are checked first, because they determine the type of the loss.
    for name in sorted(seen, key=lambda name: not name.startswith("output")):
        tensor, usual_type = seen[name], plain[name].dtype
        allowed = {usual_type}
        if name.startswith(("loss", "output")) and usual_type == torch.float32:
            allowed |= {candidate.step.autocast} - {None}
        if tensor.dtype not in allowed:
            return f"{name} is {_short(tensor.dtype)}, not {_short(usual_type)}", name
    ratio = gradient_norm(seen) / max(gradient_norm(plain), 1e-300)
    if not SMALLEST_NORM <= ratio <= LARGEST_NORM:
        return f"the gradient norm is {ratio:.2f} x the norm in fp32", "gradients"
    return "", ""


def gradient_norm(seen: Observation) -> float:
    norms = [
        torch.linalg.vector_norm(tensor.double())
        for name, tensor in seen.items()
        if name.startswith("gradient of ")
    ]
    return math.hypot(*(float(norm) for norm in norms))


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
