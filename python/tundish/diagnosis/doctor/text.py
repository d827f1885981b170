"""The verdict for a terminal."""

from __future__ import annotations

from .figures import PARTS, Figures
from .verdict import Verdict

BAR = 40
MOST_FINDINGS = 3
NAMES = {
    "data": "waiting for data",
    "copy": "copies to the GPU",
    "communication": "waiting for ranks",
    "zero_grad": "clearing gradients",
    "other": "other host code",
}


def verdict_text(verdict: Verdict, color: bool = False, blocks: bool = True) -> str:
    bold = "\033[1m{}\033[0m" if color else "{}"
    lines = ["", "  " + bold.format(verdict.sentence)]
    found = verdict.figures
    if found is not None:
        full = "█" if blocks else "#"
        lines += ["", _bar("step now", found.step_s, found.step_s, full)]
        word = "if data were free" + ("" if found.ceiling_from == "replay" else " *")
        lines += [_bar(word, found.ceiling_s, found.step_s, full), ""]
        lines += _parts(found)
        lines += _ranks(verdict)
        lines += _stages(verdict)
        lines += _changes(verdict, found)
        lines += ["", "  " + _measured(verdict, found)]
    lines += _applied(verdict)
    lines += _findings(verdict)
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
    lines += [f"    rank {one['rank']:<15}{ms(one['waits_s']):>10}" for one in verdict.ranks[:16]]
    return lines


def _stages(verdict: Verdict) -> list[str]:
    inside = verdict.loading
    if inside is None or inside.batch_s == 0:
        return []
    lines = ["", f"  A batch in one loading process: {ms(inside.batch_s)}"]
    for stage, seconds in inside.stages.items():
        if seconds >= 0.005 * inside.batch_s:
            rows = [row["name"] for row in inside.rows if row["stage"] == stage][:2]
            lines.append(f"    {stage:<20}{ms(seconds):>10}   {', '.join(rows)}".rstrip())
    return lines


def _changes(verdict: Verdict, found: Figures) -> list[str]:
    if not verdict.changes:
        return []
    lines = ["", "  What to change, best first (predicted step)"]
    for number, one in enumerate(verdict.changes, 1):
        if one.predicted_s is None:
            figure = "to be measured"
        else:
            words = "at best " if one.at_best else ""
            gain = found.step_s / one.predicted_s if one.predicted_s else float("inf")
            figure = f"{words}{ms(one.predicted_s)}, {gain:.1f}x"
        lines += [f"    {number}  {one.what}: {figure}", f"       {one.how}"]
    return lines


def _applied(verdict: Verdict) -> list[str]:
    one = verdict.applied
    if one is None:
        return []
    if one["measured_s"] is None:
        return ["", f"  Change {one['number']} was not tried: {one['text']}"]
    words = "at best " if one["at_best"] else ""
    predicted = ""
    if one["predicted_s"] is not None:
        predicted = f"; predicted {words}{ms(one['predicted_s'])} ({one['difference']:+.0%})"
    return [
        "",
        f"  Change {one['number']}, tried: {ms(one['measured_s'])} measured{predicted}",
        *(f"    {line}" for line in one["text"].splitlines()),
        f"    Then: {one['sentence']}",
    ]


def _findings(verdict: Verdict) -> list[str]:
    """The first few; `tundish check` shows all of them."""
    found = verdict.findings
    if not found:
        return []
    lines = ["", "  Checks (tundish check shows more of the script's text)"]
    for one in found[:MOST_FINDINGS]:
        place = f"{one['file'].rpartition('/')[2]}:{one['line']}  " if one["file"] else ""
        cost = f" ({ms(one['seconds'])} of every step)" if one.get("seconds") else ""
        lines += [f"    {place}{one['text']}{cost}", f"       {one['remedy']}"]
    if len(found) > MOST_FINDINGS:
        lines.append(f"    and {len(found) - MOST_FINDINGS} more")
    return lines


def _measured(verdict: Verdict, found: Figures) -> str:
    cost = verdict.facts.get("overhead_s") or 0.0
    share = cost / found.step_s if found.step_s else 0.0
    replay = f", {found.replayed} with cached batches" if found.replayed else ""
    return (
        f"measured: {found.steps} steps{replay}; measuring adds {ms(cost)} per step ({share:.1%})"
    )
