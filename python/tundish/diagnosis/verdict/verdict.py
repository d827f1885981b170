"""The verdict on one process: what limits the speed of its training step, and what to change."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..doctor_json import (
    AppliedJson,
    FindingJson,
    FindingWithCodeJson,
    LineJson,
    RankJson,
    ReportJson,
    StepJson,
    TimelineJson,
)
from ..layers.layer_json import layers_json
from ..phrases import count_text
from ..probe.facts import NO_FACTS, Facts, LineFacts, StepFacts
from ..rules.layers import check_layers
from ..rules.runtime import check_run
from .cause import CAUSES, Cause, find_cause
from .changes import Change, find_changes
from .excerpts import excerpt
from .figures import COMPUTE, Figures, figures
from .loading import Loading, loading
from .step_tables import tables

VERSION = 1
OTHER_LOADERS = 0.1  # of the step; waiting for loaders that are not judged
UNEXPLAINED = 0.1  # of the step; time that cached batches save beyond waiting for data
_MISSING_TEXTS = {
    "timeline": "no timeline was written",
    "functions": "the table of functions is missing",
    "memory": "the memory of a step is missing",
}


@dataclass(repr=False)
class Verdict:
    """The result of `tundish.doctor`: what makes a training step slow, and what to change.

    `print(verdict)` shows the whole report.
    """

    sentence: str  # the verdict in one sentence
    cause: Cause | None  # what limits the speed: `name` and `share`; None if no step was measured
    figures: Figures | None = None  # times of the step and its parts
    changes: list[Change] = field(default_factory=list)  # proposed changes, best first
    loading: Loading | None = None  # time to load a batch, by stage
    facts: Facts = NO_FACTS  # all observations of the run
    notes: list[str] = field(default_factory=list)  # limitations of the verdict
    ranks: list[RankJson] = field(default_factory=list)  # step time and waiting time of each rank
    findings: list[FindingJson] = field(default_factory=list)  # findings of the checks
    applied: AppliedJson | None = None  # the change that was tried, and its measured step time
    table: str = ""  # table to print: "simple" or "advanced"
    timeline: TimelineJson | None = None  # contents of the timeline file

    def __str__(self) -> str:
        from ..report.verdict_text import verdict_text

        return verdict_text(self)

    def __repr__(self) -> str:
        return f"<Verdict: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Shows the report in notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the report as an HTML page (.html) or as JSON (.json).

        The JSON file can be compared with another one by `tundish doctor compare`.
        """
        from ..report.report_file import report_text

        text = report_text(os.fspath(path), self.as_json())
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)

    def as_json(self) -> ReportJson:
        facts, step = self.facts, self.figures.step_s if self.figures else 0.0
        inside: Any = None
        if self.loading is not None:
            inside = {**asdict(self.loading), "batch_s": self.loading.batch_s}
        return {
            "version": VERSION,
            "sentence": self.sentence,
            "cause": _as_json(self.cause),
            "figures": _as_json(self.figures),
            "changes": [change.as_json(step) for change in self.changes],
            "loading": inside,
            "loader": facts.loader.as_json() if facts.loader else None,
            "lines": [_line_json(line) for line in facts.lines],
            "steps": [_step_json(step) for step in facts.steps],
            "overhead_s": facts.overhead_s,
            "phase": facts.phase or None,
            "torch": _as_json(facts.torch),
            "gpu": _as_json(facts.gpu_profile),
            "layers": layers_json(facts.layers),
            "layers_missing_reason": facts.layers_missing_reason,
            "notes": self.notes,
            "ranks": self.ranks,
            "findings": [_finding_json(finding) for finding in self.findings],
            "applied": self.applied,
            "tables": tables(facts),
            "memory": _as_json(facts.recorded.memory),
            "timeline": self.timeline,
        }


def _as_json(value: Any) -> Any:
    return None if value is None else asdict(value)


def _line_json(line: LineFacts) -> LineJson:
    values: Any = {**asdict(line), "code": excerpt(line.file, line.line)}
    return values  # type: ignore[no-any-return]


def _finding_json(finding: FindingJson) -> FindingWithCodeJson:
    code = excerpt(finding["file"], finding["line"])
    values: Any = {
        "seconds": None,
        **finding,
        "code": code,
    }  # a check without a cost has no seconds
    return values  # type: ignore[no-any-return]


def _step_json(step: StepFacts) -> StepJson:
    """Returns the times of a step without the doctor's own work. Uses GPU times if they are known."""
    parts = step.gpu_seconds or step.seconds
    whole = sum(s for part, s in parts.items() if part != "own")
    return {"phase": step.phase, "s": whole, "data_s": parts.get("data", 0.0)}


def judge(facts: Facts, ended: str = "the script") -> Verdict:
    """Computes the verdict from the facts.

    `ended` says what has ended, for messages; "" if the run continues.
    """
    found = figures(facts)
    missing = missing_notes(facts.recorded.asked if ended else (), facts, ended)
    if found is None:
        return Verdict(_no_verdict_text(facts, ended), None, facts=facts, notes=missing)
    inside = loading(facts, found)
    cause = find_cause(facts, found, inside)
    return Verdict(
        _sentence(facts, found, cause),
        cause,
        found,
        find_changes(facts, found, inside, cause),
        inside,
        facts,
        [*_notes(facts, found), *missing],
        findings=[*check_run(facts), *check_layers(facts.layers)],
    )


def percent_text(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _no_verdict_text(facts: Facts, ended: str) -> str:
    if facts.torch is None:
        return "No verdict: the script did not import PyTorch."
    steps = facts.optimizer_steps
    if not facts.steps and steps < 2:
        return "No verdict: fewer than two torch optimizer steps ran."
    seen = count_text(steps, "optimizer step")
    return f"No verdict: {ended} ended after {seen}." if ended else f"No verdict yet, after {seen}."


def _sentence(facts: Facts, found: Figures, cause: Cause) -> str:
    percent = percent_text(cause.share)
    if cause.name == "compute":
        waits = percent_text(found.share("data"))
        parts = sorted(COMPUTE, key=lambda part: -found.parts[part])[:2]
        shares = ", ".join(f"{part} {percent_text(found.share(part))}" for part in parts)
        return f"The model bounds the step ({shares}); waiting for data takes {waits} of it."
    if cause.name == "host":
        where = f": {cause.detail}" if cause.detail else ""
        return f"Host code outside the model takes {percent} of every step{where}."
    if cause.name == "copy":
        of = f" {cause.detail}" if cause.detail else ""
        return f"Copies to the GPU{of} take {percent} of every step."
    if cause.name == "sync":
        where = f": {cause.detail}" if cause.detail else ""
        return f"The GPU is idle {percent} of every step, because the host waits for it{where}."
    if cause.name == "launch":
        return f"The GPU is idle {percent} of every step between {cause.detail}: the host launches too slowly."
    if cause.name == "communication":
        return f"Communication between the ranks takes {percent} of every step."
    who = "The GPU waits" if found.clock == "gpu" else "Training waits"
    return f"{who} for data {percent} of every step: {loading_reason(facts, cause)}."


def loading_reason(facts: Facts, cause: Cause) -> str:
    """Explains slow loading, as in "decoding the samples (Image.convert), with num_workers=1"."""
    if cause.name == "workers":
        count = int(cause.detail)
        if count == 0:
            return "the training process loads the data itself (num_workers=0)"
        return f"{count} worker process{'es are' if count > 1 else ' is'} not enough"
    workers = facts.loader.num_workers if facts.loader else None
    by = "" if workers is None else f", with num_workers={workers}"
    detail = f" ({cause.detail})" if cause.detail else ""
    return f"{CAUSES[cause.name]}{detail}{by}"


def _notes(facts: Facts, found: Figures) -> list[str]:
    out = []
    if found.few:
        is_single = found.steps == 1
        seen = f"{'step was' if is_single else 'steps were'} measured, at the beginning"
        if found.rare_steps:
            seen = f"{'step remains' if is_single else 'steps remain'}"
        out.append(f"only {found.steps} {seen}: the figures are noisy")
    if found.rare_steps:
        out.append(
            f"{count_text(found.rare_steps, 'unusually long step')} omitted (validation, checkpoints)"
        )
    faster = 1 - (found.ceiling_s + found.parts["data"]) / found.step_s
    if found.ceiling_from == "cached" and faster > UNEXPLAINED and not found.few:
        out.append(
            f"with cached batches the rest of the step is shorter by {percent_text(faster)} of the step: loading or "
            "other programs use CPUs that the training process needs"
        )
    if found.other_data_s > OTHER_LOADERS * found.step_s:
        share = percent_text(found.other_data_s / found.step_s)
        out.append(
            f"waiting for another loader takes {share} of the step: the stages and changes are those "
            "of the loader that the loop waits for longest"
        )
    if found.ceiling_from == "computed" and facts.phase == "done":
        out.append(
            "the step if data were free is computed, not measured, because no step had cached batches"
        )
    if facts.gpu_profile_missing_reason:
        out.append(f"the GPU could not be profiled: {facts.gpu_profile_missing_reason}")
    if facts.loader_missing_reason:
        out.append(f"the loader could not be inspected: {facts.loader_missing_reason}")
    if facts.loader is None:
        out.append("no known loader feeds the loop; waiting is estimated from samples")
    return out


def missing_notes(asked: Iterable[str], facts: Facts, ended: str) -> list[str]:
    """Returns a note for each missing section.

    `asked` lists the phases of the requested recorders (probe/recorders.py). `ended` says what ended too
    early, such as "the script".
    """
    recorded = facts.recorded
    out = [f"{name}: recording failed: {why}" for name, why in recorded.failed.items()]
    if facts.failed:
        out.append(f"the watch failed, and the script ran on unwatched: {facts.failed}")
    for name in asked:
        if name not in recorded.failed and not recorded.steps_in(name):
            out.append(
                f"{_MISSING_TEXTS[name]}: {ended} ended before a step was recorded; recording follows "
                "the measured steps"
            )
    return out
