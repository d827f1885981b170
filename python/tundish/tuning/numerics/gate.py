"""The gate that a trick passes before it may be kept: does the step still compute what it did?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from ..job import Job, JobSource
from ..step import Step
from ..step_graph import WARM_UP_STEPS
from ..trials.trial_process import compiled_graphs
from ..tricks import Grade, Trick, in_order, trick_from_json
from ..tricks.tf32 import Flags, set_flags
from .floor import MOST, ratios
from .observed_step import Observation, Watch, observe
from .randomness import same_dropout
from .reference import MakeJob, Plain, same_bits, use_a_rate
from .side_effects import CHANGED_BATCH, KeptBatches, fault_in_eval_mode

LIMIT = 10.0  # errors of correct tricks were up to 4.4 x the floor, of faults 133 x and more
SHOWN = 10


@dataclass
class GateResult:
    """What the gate found. Plain values only: it goes through a pipe and into a report."""

    passed: bool
    grade: str  # the weakest of the tricks
    sentence: str  # for the user: what differs, or that nothing does
    worst: str = ""  # the tensor with the largest ratio
    ratio: float = 0.0  # its error / the fp32 noise of that tensor
    limit: float = LIMIT
    reference: str = ""  # "fp64", "fp32" or "bits"
    deterministic: bool = True  # the plain step gives the same bits twice
    graphs: int = 0  # that torch.compile made
    obstacle: str = ""  # why a trick cannot be used on this job at all
    tensors: list[dict[str, Any]] = field(default_factory=list)  # the worst ones, largest first
    notes: list[str] = field(default_factory=list)
    overflow: dict[str, Any] | None = None  # fp16 only

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_tricks(
    source: JobSource, tricks: list[dict[str, Any]], seed: int, samples: int = 32
) -> GateResult:
    """For a child process: {"do": "call", "function": "tundish.tuning.numerics.gate:check_tricks", ...}."""
    chosen = in_order(trick_from_json(values) for values in tricks)
    return gate(lambda: source.make(seed), chosen, seed, samples)


def check_each(
    source: JobSource, tricks: list[dict[str, Any]], seed: int, samples: int = 32
) -> list[GateResult]:
    """As check_tricks, each trick by itself; the plain step's reference and noise are made once."""

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
    """Checks a stack of tricks, applied in the order given, by the grade of its weakest one."""
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
    """TF32 off, and random numbers that do not depend on layout, number type or compiler."""
    kept = Flags()
    set_flags(False, False)
    try:
        with same_dropout():
            yield
    finally:
        kept.restore()


class Candidate:
    """A job with its tricks applied; undone at the end."""

    def __init__(self, make: MakeJob, tricks: list[Trick]) -> None:
        self.job = make()
        use_a_rate(self.job.optimizer)
        self.step = Step(self.job.model, self.job.optimizer, self.job.loss_fn)
        self.step.shapes_vary = self.job.shapes_vary
        self.step.must_capture = True
        self._applied: list[Trick] = []
        self._tricks = tricks
        self._config = contextlib.ExitStack()
        self._graphs_before = compiled_graphs()

    def apply(self) -> str:
        """The obstacle, if a trick has one."""
        for trick in self._tricks:
            obstacle = trick.obstacle(self.step)
            if obstacle:
                return f"{trick.title or trick.name}: {obstacle}"
            trick.apply(self.step)
            self._applied.append(trick)
        if self.step.compile_options is not None:
            from torch._inductor import config

            # Else the compiler draws numbers of its own, and dropout masks would differ.
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
        batches = KeptBatches(plain.points)
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
    """Into how many micro-batches the reference is cut, and why.

    BatchNorm normalises every micro-batch by itself and dropout draws for each: the whole batch is
    another computation then, not the same one with other rounding.
    """
    if step.accumulate == 1:
        return 1, ""
    norm, drop = torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd
    if not any(isinstance(m, (norm, drop)) for m in step.model.modules()):
        return 1, ""
    return step.accumulate, (
        f"compared with a plain step in {step.accumulate} micro-batches: BatchNorm or dropout make the "
        "step of the whole batch another computation"
    )


def run_candidate(candidate: Candidate, plain: Plain) -> Iterator[Observation]:
    """Two steps, one at each point; before them the steps that a graph runs ungraphed."""
    watch = Watch(candidate.step.model)
    try:
        for i in range(warm_up_steps(candidate.step) + len(plain.points)):
            point = plain.points[i % len(plain.points)]
            yield observe(candidate.step, watch, plain.start, point)
    finally:
        watch.end()


def warm_up_steps(step: Step) -> int:
    """An even number: the points alternate, so that a step that reads the batch before its own is seen."""
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
    if candidate.step.accumulate != plain.accumulate:  # outputs of a micro-batch, not of the batch
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
        result.notes.append(
            "the plain step does not give the same bits twice: compared within its fp32 noise"
        )
        return
    result.reference = "bits"
    name = next(filter(None, (same_bits(a, b) for a, b in zip(run, plain.eager))), "")
    if not name:
        result.sentence = "the same bits"
    elif result.passed:
        result.passed, result.worst, result.ratio = False, name, 0.0
        result.sentence = f"{name} does not have the same bits"


def _demand_eval_mode(result: GateResult, candidate: Candidate, plain: Plain) -> None:
    """A validation runs the model too, and may take another way through the model."""
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
            return "is missing" if name in usual else "is there, but not in the plain step"
        if name in seen and seen[name].shape != usual[name].shape:
            return f"has shape {tuple(seen[name].shape)}, not {tuple(usual[name].shape)}"
        if name in seen and not bool(torch.isfinite(seen[name]).all()):
            return "is not finite"
    return "has another value"
