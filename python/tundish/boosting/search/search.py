"""The search: baseline, loader, model, confirmation in a fresh run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from ..._c.errors import Error
from ...diagnosis.verdict.verdict import judge
from ..inject.request import Change, Request, request_of
from ..trials.trial import TrialPlan, TrialResult
from .candidates import (
    TITLES,
    LeftOut,
    candidates,
    draws_other_random_numbers,
    is_loader_change,
    lowers_precision,
    title_of,
)
from .proof_verdict import ProofVerdict, judge_run
from .results import FAILED, KEPT, LEFT_OUT, NO_GAIN, REJECTED, BoostResult, ChangeRow, Measured

LEAST_GAIN = 1.03  # of a change that is kept
RUNS = ("plain", "plain", "nudged", "nudged", "nudged", "random")
SHARE_OF_PROOF = 0.15  # of the time limit, for the baseline's runs
SHARE_OF_BASELINE = 0.4  # of the baseline's time, for a trial, before one has run
STEPS = 12  # measured steps of a trial
CONFIRMED_STEPS = 20
LEAST_WAIT = 0.10  # share of the step in which training waits, so that the loader is tried again
BUSY, MOST_NOISE = 0.10, 0.25  # relative difference of equal runs
LEAST_MODEL_SHARE = 0.05  # changes of the model are not tried below this share of the step


class Runner(Protocol):
    def run(self, plan: TrialPlan) -> TrialResult: ...


class BoostError(Error):
    """The script cannot be boosted: it fails by itself, or has no training loop."""


@dataclass
class SearchOptions:
    seconds: float = 300.0
    pack: str = ""  # pack that accelerate() may use or make
    select: list[str] | None = None  # names of changes to try; None: all
    ignore: list[str] = field(default_factory=list)


class Search:
    """Runs once. KeyboardInterrupt ends it early, with the best changes so far.

    `progress` receives what is tried next, and the seconds that are left.
    """

    def __init__(
        self, runner: Runner, options: SearchOptions, progress: Callable[[str, float], None]
    ) -> None:
        self._runner, self._options, self._progress = runner, options, progress
        self._began = time.monotonic()
        self._rows: list[ChangeRow] = []
        self._notes: list[str] = []
        self._kept: tuple[Change, ...] = ()
        self._finished = True
        self._loader_proof = ""
        self._longest = 0.0  # seconds of the longest trial; before the first one, an estimate

    def run(self) -> BoostResult:
        base = self._baseline()
        assert base.facts is not None
        assert base.survey is not None
        self._base, self._survey = base, base.survey
        self._objects = _objects(base.survey)
        self._verdict = judge(base.facts)
        self._best = measured(base)
        self._longest = SHARE_OF_BASELINE * (time.monotonic() - self._began)
        self._noise = min(MOST_NOISE, base.compute_noise)
        if base.compute_noise > BUSY:
            self._notes.append(
                f"this machine is busy: equal steps differed by {base.compute_noise:.0%}, so that small "
                "gains could not be seen"
            )
        try:
            self._try_all()
            pairs, boosted, proof = self._confirm()
        except KeyboardInterrupt:
            self._finished = False
            self._notes.append("interrupted: the best changes so far, without a fresh run")
            pairs, boosted, proof = [], self._best, None
        return self._result(pairs, boosted, proof)

    # --- the baseline --------------------------------------------------------------------------

    def _baseline(self) -> TrialResult:
        self._progress("the script as it is", self._left())
        plan = TrialPlan(
            Request(),
            runs=RUNS,
            runs_s=SHARE_OF_PROOF * self._options.seconds,
            is_baseline=True,
            limit_s=self._left(),
        )
        result = self._run(plan)
        if result.failed:
            raise BoostError(_explained(result))
        if result.survey is None or not result.steps_s:
            raise BoostError(
                "no training loop was found: fewer than three optimizer steps\n"
                "  fix: give the script more steps, such as more epochs or data"
            )
        return result

    def _run(self, plan: TrialPlan) -> TrialResult:
        began = time.monotonic()
        result = self._runner.run(plan)
        if not plan.is_baseline:
            self._longest = max(self._longest, time.monotonic() - began)
        if result.failed == "interrupted":
            raise KeyboardInterrupt
        return result

    def _left(self) -> float:
        return max(1.0, self._options.seconds - (time.monotonic() - self._began))

    # --- trials --------------------------------------------------------------------------------

    def _try_all(self) -> None:
        found = candidates(self._survey, self._verdict, self._options.pack)
        for one in found.left_out:
            if self._is_selected(one.name):
                self._leave_out(one)
        for changes in self._selected(found.loader):
            if self._try(changes):
                break  # the others are alternatives
        share = self._base.compute_step_s / self._best.step_s if self._best.step_s else 0.0
        if share < LEAST_MODEL_SHARE:
            self._notes.append(
                f"changes of the model were not tried: it takes {share:.0%} of the step"
            )
            return
        for changes in self._selected(found.model):
            self._try(changes)
        self._try_loader_again()

    def _try_loader_again(self) -> None:
        """Tries the engine if a faster model has made the loader the limit."""
        loader = self._base.facts.loader if self._base.facts else None
        tried = {change["name"] for row in self._rows for change in row.changes}
        native = loader is not None and loader.engine is not None and loader.engine.native
        if self._kept and native and "accelerate" not in tried and self._best.wait > LEAST_WAIT:
            self._rows = [row for row in self._rows if row.title != TITLES["accelerate"]]
            for changes in self._selected([(Change("accelerate", self._options.pack),)]):
                self._try(changes)

    def _selected(self, all_changes: list[tuple[Change, ...]]) -> list[tuple[Change, ...]]:
        """Applies --select and --ignore."""
        out = []
        for changes in all_changes:
            kept = tuple(change for change in changes if self._is_selected(change.name))
            if kept:
                out.append(kept)
        return out

    def _is_selected(self, name: str) -> bool:
        options = self._options
        return (options.select is None or name in options.select) and name not in options.ignore

    def _try(self, changes: tuple[Change, ...]) -> bool:
        """Tries changes on top of those kept so far. Returns whether they are kept."""
        title = title_of(changes)
        if self._left() < 1.2 * self._longest:
            self._finished = False
            self._leave_out(LeftOut(changes[0].name, "no time left: give --minutes more"), title)
            return False
        self._progress(title, self._left())
        loader = is_loader_change(changes)
        replaced = {change.name for change in changes}
        all_changes = tuple(c for c in self._kept if c.name not in replaced) + changes
        plan = TrialPlan(
            self._request(all_changes),
            steps=STEPS,
            runs=("changed",),
            limit_s=min(self._left(), 10 * self._longest + 120),
        )
        result = self._run(plan)
        row = self._row(title, changes, result)
        self._rows.append(row)
        if row.verdict == REJECTED or row.verdict == FAILED:
            return False
        now = measured(result)
        gain = _gain(self._best, now, loader)
        row.gain = gain
        least = max(LEAST_GAIN, 1 + (0.0 if loader else self._noise))
        row.verdict = KEPT if gain >= least else NO_GAIN
        if row.verdict == KEPT:
            self._kept, self._best = all_changes, now
        return row.verdict == KEPT

    def _row(self, title: str, changes: tuple[Change, ...], result: TrialResult) -> ChangeRow:
        row = ChangeRow(title, [asdict(change) for change in changes], KEPT, seconds=result.seconds)
        if result.failed:
            row.verdict, row.reason = FAILED, result.failed + _quoted(result.output)
            return row
        row.measured = measured(result)
        row.ways = {c.name: result.ways[c.name] for c in changes if c.name in result.ways}
        refused = {n: r for n, r in result.left_out.items() if n in {c.name for c in changes}}
        if refused:
            row.verdict, row.reason = FAILED, "; ".join(refused.values())
            return row
        if changes[0].name == "accelerate":
            row.training = "same samples, same distribution"
            row.reason = result.loader_report
        verdict = self._judged(changes, result)
        row.proof, row.losses = verdict.as_json(), verdict.losses
        if not is_loader_change(changes):
            row.training = verdict.sentence
        if not verdict.passed:
            row.verdict, row.reason = REJECTED, verdict.sentence
        return row

    def _judged(self, changes: tuple[Change, ...], result: TrialResult) -> ProofVerdict:
        lower = lowers_precision((*self._kept, *changes))
        random = draws_other_random_numbers((*self._kept, *changes))
        changed = result.runs[0] if result.runs else None
        return judge_run(self._base.runs, changed, lower, random)

    def _leave_out(self, one: LeftOut, title: str = "") -> None:
        name = title or title_of((Change(one.name),))
        self._rows.append(ChangeRow(name, [], LEFT_OUT, one.reason, one.place))

    def _request(self, changes: tuple[Change, ...]) -> Request:
        return request_of({**self._objects, "changes": [asdict(change) for change in changes]})

    # --- confirmation --------------------------------------------------------------------------

    def _confirm(self) -> tuple[list[tuple[float, float]], Measured, ProofVerdict | None]:
        """Measures baseline and boosted script again, in turn. Returns pairs of step times."""
        if not self._kept:
            return [], self._best, None
        pairs: list[tuple[float, float]] = []
        boosted, proof = self._best, None
        base_s = self._base.step_s
        while len(pairs) < 2 and (not pairs or self._left() > 2.5 * self._longest):
            self._progress("confirming in a fresh run", self._left())
            runs = ("changed",) if not pairs else ()
            result = self._run(
                TrialPlan(self._request(self._kept), CONFIRMED_STEPS, runs, limit_s=600)
            )
            if result.failed:
                self._keep_nothing(f"the fresh run failed: {result.failed}")
                break
            if runs:
                proof, boosted = self._judged((), result), measured(result)
                self._loader_proof = result.loader_report
            if self._left() > 1.5 * self._longest:
                again = self._run(TrialPlan(Request(), CONFIRMED_STEPS, limit_s=600))
                base_s = again.step_s or base_s
            pairs.append((base_s, result.step_s))
        if proof is not None and not proof.passed:
            self._keep_nothing(f"all changes together fail the check: {proof.sentence}")
        elif pairs and (gain := _median_gain(pairs)) < LEAST_GAIN:
            self._keep_nothing(f"the fresh run was not faster: {gain:.2f}x")
        return pairs, boosted, proof

    def _keep_nothing(self, reason: str) -> None:
        self._notes.append(f"{reason}; nothing is kept")
        self._kept = ()
        for row in self._rows:
            if row.verdict == KEPT:
                row.verdict, row.reason = NO_GAIN, reason

    def _result(
        self, pairs: list[tuple[float, float]], boosted: Measured, proof: ProofVerdict | None
    ) -> BoostResult:
        base = measured(self._base)
        if pairs:
            base = _with_step(base, median(pair[0] for pair in pairs))
            boosted = _with_step(boosted, median(pair[1] for pair in pairs))
        gain = _median_gain(pairs) if pairs else base.step_s / boosted.step_s
        if not self._kept:
            boosted, gain = base, 1.0
        facts = self._base.facts
        assert facts is not None
        script = facts.script or (facts.files[-1] if facts.files else "")
        return BoostResult(
            command=[],
            script=script,
            digest=file_digest(script),
            device=self._survey["device"],
            gpu=(facts.torch.gpu if facts.torch else None) or "",
            baseline=base,
            boosted=boosted,
            gain=gain,
            sentence=self._verdict.sentence,
            rows=self._rows,
            changes=[asdict(change) for change in self._kept],
            objects=self._objects,
            survey=self._survey,
            baseline_losses=[
                [sum(step) / max(1, len(step)) for step in run.losses]
                for run in self._base.runs
                if run.kind != "random"
            ],
            boosted_losses=proof.losses if proof else [],
            proof=proof.as_json() if proof else None,
            loader_proof=self._loader_proof,
            pairs=pairs,
            notes=self._notes,
            finished=self._finished,
            seconds=time.monotonic() - self._began,
        )


def _median_gain(pairs: list[tuple[float, float]]) -> float:
    return median(one / two for one, two in pairs)


def measured(result: TrialResult) -> Measured:
    wait = sum(result.waits_s) / len(result.waits_s) if result.waits_s else 0.0
    return Measured(
        step_s=result.step_s,
        compute_s=result.compute_step_s,
        wait=wait / result.step_s if result.step_s else 0.0,
        samples=result.samples,
        peak_bytes=result.peak_bytes,
    )


def _gain(best: Measured, now: Measured, loader: bool) -> float:
    """Returns the speedup: of the whole step by the loader, of the repeated batches by the model."""
    if loader or not (best.compute_s and now.compute_s):
        return best.step_s / now.step_s if now.step_s else 0.0
    return best.compute_s / now.compute_s


def _with_step(one: Measured, step_s: float) -> Measured:
    return Measured(step_s, one.compute_s, one.wait, one.samples, one.peak_bytes)


def _objects(survey: dict[str, Any]) -> dict[str, Any]:
    return {
        "models": [model["identity"] for model in survey["models"]],
        "optimizers": [optimizer["identity"] for optimizer in survey["optimizers"]],
        "loader": survey["loader"],
    }


def _explained(result: TrialResult) -> str:
    text = f"the script cannot be measured: {result.failed}"
    if "EOFError: EOF when reading a line" in result.output:
        text += "\n  fix: the script reads standard input, which is empty here: pass its answers as options"
    elif "exit code" in result.failed:
        text += "\n  fix: make the script run by itself first"
    elif "few to measure" in result.failed or "no training loop" in result.failed:
        text += "\n  fix: let it train for at least 50 steps, such as by more epochs or more data"
    return text + _quoted(result.output)


def _quoted(output: str) -> str:
    lines = output.strip().splitlines()[-6:]
    return "".join(f"\n  | {line}" for line in lines)


def file_digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""
