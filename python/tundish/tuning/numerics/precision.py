"""The checks of a stack in lower precision: TF32, bf16, fp16.

Its errors are larger than fp32 noise by design, so nothing is compared tensor by tensor: its other
tricks were, in fp32, before they were stacked. What is checked here needs one step; what only shows
while training is checked on loss curves (band.py).
"""

from __future__ import annotations

import math

import torch

from ..step import Step
from ..tricks import Grade, Trick
from ..tricks.tf32 import Flags, set_flags
from .gate import Candidate, GateResult, warm_up_steps
from .observed_step import Observation, Point, Start, Watch, observe, points_of, whole_points
from .overflow import overflow_of, scale_of
from .reference import MakeJob, use_a_rate
from .side_effects import CHANGED_BATCH, KeptBatches

# Norm of all gradients against fp32. bf16 gave 0.994 to 1.004, a loss divided twice 0.5.
SMALLEST_NORM, LARGEST_NORM = 0.8, 1.25
MOST_STEPS = 16  # for the scaler to find a scale at which nothing overflows: 2^16 down to 1


def gate_precision(make: MakeJob, tricks: list[Trick], seed: int, samples: int) -> GateResult:
    """Finite values, the expected number types, gradients of the right size, graphs really compiled."""
    grade = Grade.STATISTICAL.value
    candidate = Candidate(make, tricks)
    try:
        start = Start.of(candidate.job.model)
        obstacle = candidate.apply()
        if obstacle:
            return GateResult(False, grade, obstacle, obstacle=obstacle)
        plain, point = plain_step(make, start, candidate.step, seed, samples)
        batches = KeptBatches([point])
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
    """What the step in strict fp32 gives, and where."""
    job = make()
    use_a_rate(job.optimizer)
    step = Step(job.model, job.optimizer, job.loss_fn)
    step.accumulate, step.clip_norm = like.accumulate, like.clip_norm
    watch = Watch(job.model)
    kept = Flags()
    set_flags(False, False)  # the candidate's TF32 may be on by now
    try:
        try:
            point = points_of(job, seed, samples)[0]
            return observe(step, watch, start, point), point
        except torch.OutOfMemoryError:
            raise
        except Exception:  # a batch that cannot be cut
            point = whole_points(job, seed)[0]
            return observe(step, watch, start, point), point
    finally:
        kept.restore()
        watch.end()


def run_until_kept(step: Step, start: Start, point: Point) -> tuple[Observation, list[float]]:
    """The first step that counts: after those that a graph runs ungraphed and those that the scaler
    skips. With the scaler's scale before the first step and after each one."""
    watch = Watch(step.model)
    scales = [] if step.scaler is None else [scale_of(step.scaler)]
    try:
        for i in range(warm_up_steps(step) + MOST_STEPS):
            seen = observe(step, watch, start, point)
            if step.scaler is not None:
                scales.append(scale_of(step.scaler))
            if i >= warm_up_steps(step) and not skipped_last(scales):
                break
        return seen, scales
    finally:
        watch.end()


def skipped_last(scales: list[float]) -> bool:
    return len(scales) > 1 and scales[-1] < scales[-2]


def first_fault(
    candidate: Candidate, seen: Observation, plain: Observation, scales: list[float]
) -> tuple[str, str]:
    """A sentence and the tensor that it is about; empty if all is well."""
    if candidate.not_compiled():
        return "torch.compile compiled nothing: the step ran eagerly", ""
    if skipped_last(scales):
        return f"gradients overflow at every scale down to {scales[-1]:g}", ""
    for name, tensor in seen.items():
        usual = plain.get(name)
        if usual is None:
            return f"{name} is there, but not in the plain step", name
        if not bool(torch.isfinite(tensor).all()) and bool(torch.isfinite(usual).all()):
            return f"{name} is not finite", name
    # Outputs first: the loss has its type from them.
    for name in sorted(seen, key=lambda name: not name.startswith("output")):
        tensor, usual_type = seen[name], plain[name].dtype
        allowed = {usual_type}
        if name.startswith(("loss", "output")) and usual_type == torch.float32:
            allowed |= {candidate.step.autocast} - {None}
        if tensor.dtype not in allowed:
            return f"{name} is {_short(tensor.dtype)}, not {_short(usual_type)}", name
    ratio = gradient_norm(seen) / max(gradient_norm(plain), 1e-300)
    if not SMALLEST_NORM <= ratio <= LARGEST_NORM:
        return f"the norm of the gradients is {ratio:.2f} x that of fp32", "gradients"
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
