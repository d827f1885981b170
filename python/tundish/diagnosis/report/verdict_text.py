"""Formats the verdict for a terminal."""

from __future__ import annotations

import shlex

from ..._cli.terminal import BOLD, paint
from ..layers.layer_json import layers_json
from ..layers.layer_text import LONG, SHORT, layers_text
from ..phrases import applied_name, count_text
from ..verdict.figures import PARTS, Figures
from ..verdict.verdict import Verdict
from .section_text import extra_lines

BAR = 40
MOST_FINDINGS = 3
MODEL_SHARE = 0.5  # layers are shown by default if the model takes more than this share of the step
NAMES = {
    "data": "waiting for data",
    "copy": "copies to the GPU",
    "communication": "waiting for ranks",
    "zero_grad": "clearing gradients",
    "other": "other host code",
}


def verdict_text(
    verdict: Verdict, color: bool = False, blocks: bool = True, all_layers: bool = False
) -> str:
    """Returns the text. With `all_layers`, it has the long table of layers and notes about them."""
    lines = ["", "  " + paint(verdict.sentence, BOLD, color)]
    found = verdict.figures
    if found is not None:
        full = "█" if blocks else "#"
        lines += ["", _bar("step now", found.step_s, found.step_s, full)]
        label = "if data were free" + ("" if found.ceiling_from == "cached" else " *")
        lines += [_bar(label, found.ceiling_s, found.step_s, full)]
        if found.ceiling_from != "cached":
            lines += ["    * computed: the step without waiting"]
        lines += [""]
        lines += _parts(found)
        lines += _ranks(verdict)
        lines += _stages(verdict)
        lines += _layers(verdict, found, all_layers)
        lines += _changes(verdict, found)
        lines += extra_lines(verdict)
        lines += ["", "  " + _measured(verdict, found)]
    lines += _applied(verdict)
    lines += _findings(verdict, all_layers)
    lines += [f"  note: {note}" for note in verdict.notes]
    return "\n".join(lines) + "\n"


def ms(seconds: float) -> str:
    value = seconds * 1e3
    return (
        f"{value:,.0f} ms"
        if value >= 100
        else f"{value:.1f} ms"
        if value >= 1
        else f"{value:.2f} ms"
    )


def _bar(name: str, seconds: float, whole: float, full: str) -> str:
    return f"    {name:<20}{ms(seconds):>10}   {full * max(1, round(BAR * seconds / whole))}"


def _parts(found: Figures) -> list[str]:
    lines = ["  Where the time goes" + (", on the GPU's clock" if found.clock == "gpu" else "")]
    for part in PARTS:
        if found.share(part) >= 0.005:
            name = NAMES.get(part, part)
            lines.append(f"    {name:<20}{ms(found.parts[part]):>10}   {found.share(part):>4.0%}")
    return lines


def _ranks(verdict: Verdict) -> list[str]:
    if not verdict.ranks:
        return []
    lines = ["", "  Ranks: waiting for the others, per step"]
    lines += [
        f"    rank {rank['rank']:<15}{ms(rank['waits_s']):>10}" for rank in verdict.ranks[:16]
    ]
    return lines


def _stages(verdict: Verdict) -> list[str]:
    inside = verdict.loading
    if inside is None or inside.batch_s == 0:
        return []
    several = f" ({inside.batches:.3g} batches per step)" if inside.batches > 1 else ""
    lines = ["", f"  A batch in one loading process: {ms(inside.batch_s)}{several}"]
    for stage, seconds in inside.stages.items():
        if seconds >= 0.005 * inside.batch_s:
            rows = [row.name for row in inside.rows if row.stage == stage][:2]
            lines.append(f"    {stage:<20}{ms(seconds):>10}   {', '.join(rows)}".rstrip())
    return lines


def _changes(verdict: Verdict, found: Figures) -> list[str]:
    if not verdict.changes:
        return []
    lines = ["", "  What to change, best first (predicted step)"]
    for number, change in enumerate(verdict.changes, 1):
        if change.predicted_s is None:
            figure = "to be measured"
        else:
            qualifier = "at best " if change.at_best else ""
            gain = found.step_s / change.predicted_s if change.predicted_s else float("inf")
            figure = f"{qualifier}{ms(change.predicted_s)}, {gain:.1f}x"
        lines += [f"    {number}  {change.what}: {figure}", f"       {change.how}"]
        if change.apply:
            lines.append(f"       try: --apply {shlex.quote(change.apply)}")
    return lines


def _applied(verdict: Verdict) -> list[str]:
    applied = verdict.applied
    if applied is None:
        return []
    if applied["measured_s"] is None:
        return ["", f"  Change {applied_name(applied)} was not tried: {applied['text']}"]
    qualifier = "at best " if applied["at_best"] else ""
    predicted = ""
    if applied["predicted_s"] is not None:
        predicted = (
            f"; predicted {qualifier}{ms(applied['predicted_s'])} ({applied['difference']:+.0%})"
        )
    slower = ""
    if verdict.figures and applied["measured_s"] > verdict.figures.step_s:
        slower = f", slower than now ({ms(verdict.figures.step_s)})"
    measured = f"{ms(applied['measured_s'])} measured{slower}{predicted}"
    return [
        "",
        f"  Change {applied_name(applied)}, tried: {measured}",
        *(f"    {line}" for line in applied["text"].splitlines()),
        f"    Then: {applied['sentence']}",
    ]


def _layers(verdict: Verdict, found: Figures, all_layers: bool) -> list[str]:
    """Returns the slowest layers if the model takes most of the step, or all layers on request."""
    why = verdict.facts.layers_missing_reason
    if why and all_layers:
        return ["", f"  Layers not measured: {why}"]
    measured = layers_json(verdict.facts.layers)
    if measured is None or not (all_layers or found.share("forward", "backward") >= MODEL_SHARE):
        return []
    return ["", *(f"  {line}" for line in layers_text(measured, LONG if all_layers else SHORT))]


def _findings(verdict: Verdict, notes: bool) -> list[str]:
    """Returns the first findings; `tundish check` shows all of them."""
    found = [finding for finding in verdict.findings if notes or finding.get("level") != "note"]
    if not found:
        return []
    lines = ["", "  Checks (tundish check shows more)"]
    most = len(found) if notes else MOST_FINDINGS
    for finding in found[:most]:
        place = (
            f"{finding['file'].rpartition('/')[2]}:{finding['line']}  " if finding["file"] else ""
        )
        seconds = finding.get("seconds")
        cost = f" ({ms(seconds)} per step)" if seconds else ""
        lines += [f"    {place}{finding['text']}{cost}", f"       {finding['fix']}"]
    if len(found) > most:
        lines.append(f"    and {len(found) - most} more")
    return lines


def _measured(verdict: Verdict, found: Figures) -> str:
    cost = verdict.facts.overhead_s  # None if the script was killed before the measurement
    cached = f", {found.cached_batches} with cached batches" if found.cached_batches else ""
    steps = count_text(found.steps, "step")
    if found.rare_steps:
        steps = f"{found.steps} of {found.steps + found.rare_steps} steps"
    share = cost / found.step_s if cost and found.step_s else 0.0
    adds = "" if cost is None else f"; measuring adds {ms(cost)} per step ({share:.1%})"
    return f"measured: {steps}{cached}{adds}"
