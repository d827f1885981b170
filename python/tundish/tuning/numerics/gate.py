"""The numerics gate: a trick may be used only if the training step still computes the same numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from ..job import Job, JobSource
from ..step import Step
from ..step_graph import WARM_UP_STEPS
from ..tricks import Grade, Trick, in_order, trick_from_json
from ..tricks.compile import compiled_graphs
from ..tricks.tf32 import Flags, set_flags
from .floor import MOST, ratios
from .observed_step import Observation, OutputRecorder, observe
from .randomness import same_dropout
from .reference import MakeJob, Plain, replace_zero_rates, same_bits
from .side_effects import CHANGED_BATCH, BatchCopies, fault_in_eval_mode

LIMIT = 10.0  # errors of correct tricks were up to 4.4 x the noise floor, errors of faults 133 x and more
SHOWN = 10


@dataclass
class GateResult:
    """The result of the gate. Holds plain values only, because it is sent through a pipe and saved."""

    passed: bool
    grade: str  # weakest grade of the tricks
    sentence: str  # describes the largest difference, for the user
    worst: str = ""  # the tensor with the largest ratio
    ratio: float = 0.0  # error of this tensor, divided by its fp32 noise
    limit: float = LIMIT
    reference: str = ""  # "fp64", "fp32" or "bits"
    deterministic: bool = True  # whether the plain step is deterministic
    graphs: int = 0  # number of graphs that torch.compile compiled
    obstacle: str = ""  # why a trick cannot be used on this job at all
    tensors: list[dict[str, Any]] = field(
        default_factory=list
    )  # worst tensors, largest ratio first
    notes: list[str] = field(default_factory=list)
    overflow: dict[str, Any] | None = None  # fp16 only

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_tricks(
    source: JobSource, tricks: list[dict[str, Any]], seed: int, samples: int = 32
) -> GateResult:
    """Checks tricks together, given as JSON. Called in a child process by its name.

    The request is {"do": "call", "function": "tundish.tuning.numerics.gate:check_tricks", ...}.
    """
    chosen = in_order(trick_from_json(values) for values in tricks)
    return gate(lambda: source.make(seed), chosen, seed, samples)


def check_each(
    source: JobSource, tricks: list[dict[str, Any]], seed: int, samples: int = 32
) -> list[GateResult]:
    """Checks each trick separately. Computes the reference and the noise of the plain step only once."""

    def make() -> Job:
        return source.make(seed)

    plain: Plain | None = None
    found = []
    with ground():
        for values in tricks:
            chosen = [trick_from_json(values)]
            if plain is None:
                plain = Plain(make, seed, samples, 1)
            found.append(_gate_fp32(make, chosen, seed, samples, plain))
    return found


def gate(make: MakeJob, tricks: list[Trick], seed: int, samples: int = 32) -> GateResult:
    """Checks tricks together, applied in the given order. The least exact trick decides the grade."""
    with ground():
        if grade_of(tricks) is Grade.STATISTICAL:
            from .precision import gate_precision

            return gate_precision(make, tricks, seed, samples)
        return _gate_fp32(make, tricks, seed, samples)


def grade_of(tricks: list[Trick]) -> Grade:
    order = list(Grade)
    return max((trick.grade for trick in tricks), key=order.index, default=Grade.BITWISE)


@contextlib.contextmanager
def ground() -> Iterator[None]:
    """Turns TF32 off and makes random numbers independent of layout, precision and compilation."""
    kept = Flags()
    set_flags(False, False)
    try:
        with same_dropout():
            yield
    finally:
        kept.restore()


class Candidate:
    """A job with tricks applied. `end()` undoes the tricks."""

    def __init__(self, make: MakeJob, tricks: list[Trick]) -> None:
        self.job = make()
        replace_zero_rates(self.job.optimizer)
        self.step = Step(self.job.model, self.job.optimizer, self.job.loss_fn)
        self.step.shapes_vary = self.job.shapes_vary
        self.step.must_capture = True
        self._applied: list[Trick] = []
        self._tricks = tricks
        self._config = contextlib.ExitStack()
        self._graphs_before = compiled_graphs()

    def apply(self) -> str:
        """Applies the tricks. Returns the first obstacle, or an empty string."""
        for trick in self._tricks:
            obstacle = trick.obstacle(self.step)
            if obstacle:
                return f"{trick.title or trick.name}: {obstacle}"
            trick.apply(self.step)
            self._applied.append(trick)
        if self.step.compile_options is not None:
            from torch._inductor import config

            # Otherwise compiled code draws other random numbers, and dropout masks differ.
            self._config.enter_context(config.patch(fallback_random=True))
        return ""

    def graphs(self) -> int:
        return compiled_graphs() - self._graphs_before

    def not_compiled(self) -> bool:
        return self.step.compile_options is not None and self.graphs() == 0

    def end(self) -> None:
        self.step.reset()
        for trick in reversed(self._applied):
            trick.undo(self.step)
        self._config.close()


def _gate_fp32(
    make: MakeJob, tricks: list[Trick], seed: int, samples: int, known: Plain | None = None
) -> GateResult:
    candidate = Candidate(make, tricks)
    try:
        grade = grade_of(tricks)
        obstacle = candidate.apply()
        if obstacle:
            return GateResult(False, grade.value, obstacle, obstacle=obstacle)
        accumulate, note = reference_pieces(candidate.step)
        if known is not None and accumulate == known.accumulate:
            plain = known
        else:
            plain = Plain(make, seed, samples, accumulate)
        plain.notes += [note] if note else []
        batches = BatchCopies(plain.points)
        result = judge(candidate, plain, grade)
        if batches.restore() and not plain.changes_batch and result.passed:
            result.passed, result.sentence = False, CHANGED_BATCH
        if result.passed and grade is Grade.BITWISE:
            _demand_eval_mode(result, candidate, plain)
        result.graphs = candidate.graphs()
        if result.passed and candidate.not_compiled():
            result.passed = False
            result.sentence = "torch.compile compiled nothing: the step ran eagerly"
        return result
    finally:
        candidate.end()


def reference_pieces(step: Step) -> tuple[int, str]:
    """Returns the number of micro-batches of the reference step, and a note for the user.

    BatchNorm normalizes each micro-batch separately, and dropout draws a mask for each. For such models,
    the reference step must use micro-batches too, because the whole batch gives other results.
    """
    if step.accumulate == 1:
        return 1, ""
    norm, drop = torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd
    if not any(isinstance(m, (norm, drop)) for m in step.model.modules()):
        return 1, ""
    return step.accumulate, (
        f"compared with a plain step in {step.accumulate} micro-batches: with BatchNorm or dropout, the "
        "step of the whole batch is a different computation"
    )


def run_candidate(candidate: Candidate, plain: Plain) -> Iterator[Observation]:
    """Yields the results of one step for each point, after the warm-up steps of a CUDA graph.

    A point is an input of a step: a batch and a seed.
    """
    recorder = OutputRecorder(candidate.step.model)
    try:
        for i in range(warm_up_steps(candidate.step) + len(plain.points)):
            point = plain.points[i % len(plain.points)]
            yield observe(candidate.step, recorder, plain.start, point)
    finally:
        recorder.end()


def warm_up_steps(step: Step) -> int:
    """Returns the number of warm-up steps, rounded up to an even number.

    Steps alternate between two inputs, which detects a step that reads the previous batch.
    """
    return WARM_UP_STEPS + WARM_UP_STEPS % 2 if step.capture else 0


def judge(candidate: Candidate, plain: Plain, grade: Grade) -> GateResult:
    last: list[Observation] = []

    def keep_last(run: Iterator[Observation]) -> Iterator[Observation]:
        for seen in run:
            last[:] = [*last[-1:], seen]
            yield seen

    run = keep_last(run_candidate(candidate, plain))
    errors = plain.compare(run, plain.start, skip=warm_up_steps(candidate.step))
    found = ratios(errors, plain.floor)
    if candidate.step.accumulate != plain.accumulate:  # these are outputs of a micro-batch only
        found = {name: value for name, value in found.items() if not name.startswith("output")}
    names = sorted(found, key=lambda name: -found[name][0])
    worst = names[0]
    ratio = found[worst][0]
    result = GateResult(
        passed=ratio <= LIMIT,
        grade=grade.value,
        sentence=_sentence(worst, ratio, last, plain.eager),
        worst=worst,
        ratio=ratio,
        reference="fp32" if plain.reference is None else "fp64",
        deterministic=plain.deterministic,
        tensors=[
            dict(zip(("name", "ratio", "error", "floor"), (name, *found[name])))
            for name in names[:SHOWN]
        ],
        notes=list(plain.notes),
    )
    if grade is Grade.BITWISE:
        _demand_bits(result, last, plain)
    return result


def _demand_bits(result: GateResult, run: list[Observation], plain: Plain) -> None:
    if not plain.deterministic:
        result.notes.append("the plain step is not deterministic: compared within its fp32 noise")
        return
    result.reference = "bits"
    name = next(filter(None, (same_bits(a, b) for a, b in zip(run, plain.eager))), "")
    if not name:
        result.sentence = "bitwise equal"
    elif result.passed:
        result.passed, result.worst, result.ratio = False, name, 0.0
        result.sentence = f"{name} is not bitwise equal"


def _demand_eval_mode(result: GateResult, candidate: Candidate, plain: Plain) -> None:
    """Compares the model in eval mode too, because validation may take another path through the model."""
    fault, note = fault_in_eval_mode(candidate.step, plain)
    if fault:
        result.passed, result.worst, result.sentence = False, "", fault
    if note:
        result.notes.append(note)


def _sentence(worst: str, ratio: float, run: list[Observation], eager: list[Observation]) -> str:
    if ratio >= MOST:
        return f"{worst} {_what_is_wrong(worst.replace('update of', 'weight'), run, eager)}"
    if ratio > LIMIT:
        return f"{worst} differs by {ratio:,.0f} x the fp32 noise"
    return f"within {max(ratio, 0.1):.1f} x the fp32 noise, at most in {worst}"


def _what_is_wrong(name: str, run: list[Observation], eager: list[Observation]) -> str:
    for seen, usual in zip(run, eager):
        if (name in seen) != (name in usual):
            return "is missing" if name in usual else "does not exist in the plain step"
        if name in seen and seen[name].shape != usual[name].shape:
            return f"has shape {tuple(seen[name].shape)}, not {tuple(usual[name].shape)}"
        if name in seen and not bool(torch.isfinite(seen[name]).all()):
            return "is not finite"
    return "has another value"
