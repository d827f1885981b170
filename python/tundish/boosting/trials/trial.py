"""Runs the command once, with changes, and returns what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from ...diagnosis.probe.facts import Facts, StepFacts
from ...diagnosis.probe.proof.proof_facts import RunFacts
from ...diagnosis.probe.settings import Settings
from ...diagnosis.process.command import CommandResult, Surroundings, run
from ..inject.request import VARIABLE, Request
from .surroundings import trial_environment
from .write_guard import ALLOW

MOST_S = 20.0  # seconds to measure steps with the script's loader
SETTLING_STEPS = 2  # first steps of each run from the saved start, which are not timed


@dataclass(frozen=True)
class TrialPlan:
    """What to run and measure. `runs`: kinds of the proof's runs."""

    request: Request
    steps: int = 0  # to measure with the script's loader; 0: until there are enough
    runs: tuple[str, ...] = ()
    runs_s: float = 0.0  # seconds for all runs
    is_baseline: bool = False  # records the start of the runs, and what the doctor needs
    limit_s: float = 600.0


@dataclass(frozen=True)
class TrialResult:
    """What a trial measured. Times are seconds of one step; empty lists: not measured."""

    steps_s: list[float] = field(default_factory=list)  # with the script's loader
    waits_s: list[float] = field(default_factory=list)  # the waiting for data in `steps_s`
    compute_s: list[list[float]] = field(default_factory=list)  # with repeated batches, by run
    runs: list[RunFacts] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    ways: dict[str, str] = field(default_factory=dict)  # by change: a framework's switch
    left_out: dict[str, str] = field(default_factory=dict)
    loader_report: str = ""
    peak_bytes: int = 0  # of GPU memory; 0 without a GPU
    samples: int = 0  # per step
    seconds: float = 0.0  # of the whole trial
    failed: str = ""  # why the trial has no result
    output: str = ""  # the last lines of the script
    facts: Facts | None = None
    survey: dict[str, Any] | None = None

    @property
    def step_s(self) -> float:
        """Seconds of a step with the loader: waiting is a mean, because workers deliver in bursts."""
        rest = [step - wait for step, wait in zip(self.steps_s, self.waits_s)]
        return median(rest) + sum(self.waits_s) / len(self.waits_s) if rest else 0.0

    @property
    def compute_step_s(self) -> float:
        """Seconds of a step with repeated batches. Other programs only add to them: a low quantile."""
        return _lower_quartile([step for run in self.compute_s for step in run])

    @property
    def compute_noise(self) -> float:
        """How far equal runs were apart, relative to the fastest."""
        runs = [_lower_quartile(run) for run in self.compute_s if run]
        return max(runs) / min(runs) - 1 if len(runs) > 1 else 0.0


class TrialRunner:
    """Runs trials of one command.

    `folder`: for the files of the trials. `allowed`: files and folders that trials may write.
    """

    def __init__(self, command: list[str], folder: Path, allowed: Iterable[str] = ()) -> None:
        self._command, self._folder, self._allowed = command, folder, list(allowed)
        self._count = 0
        self._start = folder / "start"
        self._start.mkdir()

    def run(self, plan: TrialPlan) -> TrialResult:
        self._count += 1
        folder = self._folder / f"trial-{self._count}"
        folder.mkdir()
        settings = self._settings(plan)
        request = folder / "request.json"
        replace(plan.request, facts_folder=str(folder), fallback=False).write(str(request))
        environment = {
            VARIABLE: str(request),
            **trial_environment(self._folder, folder, self._allowed),
        }
        output = folder / "output.txt"
        around = Surroundings(environment, str(output), plan.limit_s, allowing=ALLOW)
        try:
            ended = run(self._command, settings, around)
        except OSError as error:
            return TrialResult(failed=f"{self._command[0]}: {error.strerror or error}")
        return read_trial(ended, folder, _last_lines(output), plan)

    def _settings(self, plan: TrialPlan) -> Settings:
        settings = Settings(steps=plan.steps, most_s=MOST_S, layers=0, cached_batches=1)
        if not plan.is_baseline:
            settings.profiled, settings.inspect = 0, False
        if plan.runs:
            settings.proof, settings.proof_compares = str(self._start), int(not plan.is_baseline)
            settings.proof_runs, settings.proof_s = ",".join(plan.runs), plan.runs_s
        else:
            settings.cached_batches = 0
        return settings


def read_trial(ended: CommandResult, folder: Path, output: str, plan: TrialPlan) -> TrialResult:
    """Returns the result of a command that has ended."""
    trained = [facts for facts in ended.facts if facts.steps]
    outcomes = _newest(folder, "outcomes") or {}
    failure = _failure(ended, trained, plan)
    facts = trained[0] if trained else None
    if facts is None:
        return TrialResult(failed=failure, output=output)
    measured = [s for s in facts.steps if s.phase == "measure" and not s.boundary]
    if not measured:
        measured = [s for s in facts.steps if s.phase == "measure"]
    left_out = dict(outcomes.get("left_out", {}))
    if not failure and outcomes.get("missing"):
        failure = f"the script did not use {', '.join(outcomes['missing'])}"
    return TrialResult(
        steps_s=[step_seconds(step) for step in measured],
        waits_s=[_times(step).get("data", 0.0) for step in measured],
        compute_s=_compute_seconds(facts),
        runs=facts.proof.runs if facts.proof else [],
        made=list(outcomes.get("made", [])),
        ways=dict(outcomes.get("ways", {})),
        left_out=left_out,
        loader_report=str(outcomes.get("loader", "")),
        peak_bytes=facts.torch.peak_bytes if facts.torch else 0,
        samples=_samples_per_step(facts, measured),
        seconds=facts.seconds,
        failed=failure,
        output=output,
        facts=facts,
        survey=_newest(folder, "survey"),
    )


def step_seconds(step: StepFacts) -> float:
    return sum(value for part, value in _times(step).items() if part != "own")


def _times(step: StepFacts) -> dict[str, float]:
    return step.gpu_seconds or step.seconds


def _compute_seconds(facts: Facts) -> list[list[float]]:
    """Returns the seconds of the steps with repeated batches, by run, without the first of each."""
    cached = [step for step in facts.steps if step.phase == "cached"]
    count = len(facts.proof.runs[0].losses) if facts.proof and facts.proof.runs else len(cached)
    runs = [cached[at + SETTLING_STEPS : at + count] for at in range(0, len(cached), max(1, count))]
    return [[step_seconds(step) for step in run if not step.boundary] for run in runs if run]


def _lower_quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4] if values else 0.0


def _samples_per_step(facts: Facts, measured: list[StepFacts]) -> int:
    size = facts.loader.batch_size if facts.loader else None
    batches = median(step.batches for step in measured) if measured else 1
    return int((size or 0) * max(1, batches))


def _failure(ended: CommandResult, trained: list[Facts], plan: TrialPlan) -> str:
    """Returns why the trial has no result, "" if it has one."""
    if ended.late:
        return f"it did not end within {plan.limit_s:.0f} s"
    if ended.interrupted:
        return "interrupted"
    if ended.code > 128:
        return f"signal {ended.code - 128} ended the script"
    if ended.code:
        return f"the script ended with exit code {ended.code}"
    if not ended.facts:
        return "no Python process imported PyTorch"
    if not trained:
        return "no training loop was found: no optimizer stepped"
    facts = trained[0]
    if facts.failed:
        return f"the measurement failed: {facts.failed}"
    if facts.phase != "done":
        return f"the script ended after {len(facts.steps)} steps: too few to measure"
    return f"the proof failed: {facts.proof.failed}" if facts.proof and facts.proof.failed else ""


def _newest(folder: Path, name: str) -> dict[str, Any] | None:
    """Returns the JSON of the process that trained: the one with the most content."""
    found = [json.loads(path.read_text()) for path in folder.glob(f"{name}-*.json")]
    return max(found, key=lambda values: len(str(values)), default=None)


def _last_lines(path: Path, count: int = 12) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-count:])
