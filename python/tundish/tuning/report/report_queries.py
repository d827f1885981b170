"""Extracts data from a tuning report: the rows of baseline and plan, memory, gains by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .results import COMPARED, FASTER, IMPOSSIBLE, KEPT, REJECTED, Row, TuneReport

# The settings that TuneReport.gains compares the plan with, in display order, with display names.
REFERENCES = {
    "baseline": "your step",
    "torch defaults": "torch's default flags",
    "strict fp32": "strict fp32, no TF32",
    "human recipe": "the human recipe",
}
HUMAN_RECIPE = "bf16 autocast + channels_last + torch.compile + fused optimizer"
_SAME_MEMORY = 0.02  # smaller changes, relative to the baseline's peak, are shown as "="


def baseline_row(report: TuneReport) -> Row | None:
    """Returns the row of the user's unchanged step from the first measurement, or None."""
    for row in report.rows:
        if row.verdict == COMPARED and row.label.startswith("baseline"):
            return row
    return None


def plan_row(report: TuneReport) -> Row | None:
    """Returns the plan's row from the confirming run, or None if no trick pays off.

    If the run ended early, returns the last row that was kept, or the fastest variant that passed.
    """
    kept = [row for row in report.rows if row.verdict == KEPT and row.tricks]
    confirmed = [row for row in kept if row.phase == "confirm"]
    if confirmed or kept:
        return (confirmed or kept)[-1]
    if report.finished:
        return None
    passed = [row for row in report.rows if row.verdict == FASTER and row.step_ms]
    return min(passed, key=lambda row: row.step_ms or 0.0, default=None)


def path_to_plan(report: TuneReport) -> list[Row]:
    """Returns measured rows that lead to the plan: each has more of its tricks than the previous row.

    The last row has all tricks of the plan. Among several such paths, returns the longest. Among equally
    long paths, returns the one with the faster rows.
    """
    plan = plan_row(report)
    if plan is None:
        return []
    goal = trick_set(plan)
    usable = {
        trick_set(row): row
        for row in report.rows
        if row.phase not in ("reference", "confirm")
        and row.verdict not in (REJECTED, IMPOSSIBLE, COMPARED)
        and row.step_ms
        and trick_set(row)
        and trick_set(row) <= goal
    }
    best: dict[frozenset[str], list[Row]] = {}
    for tricks in sorted(usable, key=len):
        before = [best[other] for other in best if other < tricks]
        best[tricks] = [*max(before, key=_length_and_speed, default=[]), usable[tricks]]
    ends = [path for tricks, path in best.items() if tricks == goal] or list(best.values())
    return max(ends, key=_length_and_speed, default=[])


def _length_and_speed(path: list[Row]) -> tuple[int, float]:
    return len(path), -sum(row.step_ms or 0.0 for row in path)


def trick_set(row: Row) -> frozenset[str]:
    return frozenset(trick_title(values) for values in row.tricks)


def trick_title(values: dict[str, Any]) -> str:
    """Returns the title of a trick for tables."""
    from ..tricks import TRICKS

    title = next((kind.title for kind in TRICKS if kind.name == values["name"]), values["name"])
    mode = values.get("mode", "default")
    return str(title if mode == "default" else f"{title} ({mode})")


def row_of(report: TuneReport, tricks: list[dict[str, Any]]) -> Row | None:
    """Returns the row of these tricks from the confirming run, whatever its verdict."""
    confirming = [
        row for row in report.rows if row.phase == "confirm" and same_tricks(row.tricks, tricks)
    ]
    kept = [row for row in confirming if row.verdict == KEPT]
    return next(iter(kept or confirming), None)


def same_tricks(tricks: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Returns whether both lists have the same tricks with the same options, in any order."""
    return sorted(map(str, map(sorted, map(dict.items, tricks)))) == sorted(
        map(str, map(sorted, map(dict.items, others)))
    )


def step_ms_text(report: TuneReport, row: Row) -> str:
    """Returns the step time, with a star if a GPU waits for the host."""
    if row.step_ms is None:
        return ""
    return ms_text(row.step_ms) + ("*" if waits_for_host(report, row) else "")


def waits_for_host(report: TuneReport, row: Row) -> bool:
    return row.host_bound and report.device != "cpu"


def human_recipe(report: TuneReport) -> str:
    """Returns the tricks of the human recipe that can be used on this job.

    The human recipe is what people usually apply by hand, such as bf16 and torch.compile.
    """
    for row in report.rows:
        if row.label == "human recipe" and row.tricks:
            return " + ".join(trick_title(values) for values in row.tricks)
    return HUMAN_RECIPE


def memory_text(row: Row, baseline: Row | None) -> str:
    """Returns a row's peak memory, such as "31.2 GB", or its change from the baseline, such as "-38 %"."""
    if row.peak_bytes is None:
        return ""
    if baseline is None or row is baseline or not baseline.peak_bytes:
        return bytes_text(row.peak_bytes)
    change = row.peak_bytes / baseline.peak_bytes - 1
    return "=" if abs(change) < _SAME_MEMORY else f"{100 * change:+.0f} %"


def gain_text(row: Row) -> str:
    """Returns the gain, such as "1.55x (1.53-1.56)". Adds "more" if it is not relative to the baseline."""
    if row.gain is None:
        return ""
    more = "" if row.compared_with == "baseline" else " more"
    text = times_text(row.gain) + more
    if row.low is not None and row.high is not None:
        text += f" ({interval_text(row.low, row.high)})"
    return text


def verdict_text(row: Row) -> str:
    """Returns the verdict on a row, such as "keep (pays after 5,000 steps)" or "faster, not judged"."""
    if row.verdict == COMPARED:
        return ""
    verdict = row.verdict if row.judged or row.verdict == REJECTED else f"{row.verdict}, not judged"
    if row.verdict == KEPT and row.break_even_steps:
        return f"{verdict} (pays after {row.break_even_steps:,} steps)"
    return verdict


def pays_off_text(row: Row) -> str:
    """Returns after how many steps a variant has paid back its one-off time; empty if it never does."""
    if row.break_even_steps is None or row.one_off_s is None or row.step_ms is None:
        return ""
    after = f"after {row.break_even_steps:,} steps, {duration_text(1e-3 * row.step_ms * row.break_even_steps)} of training"
    return f"{after}: compilation and warm-up take {duration_text(row.one_off_s)} once"


def gains(report: TuneReport) -> Iterator[tuple[str, str]]:
    """Yields (name, gain) for each setting that the plan was compared with."""
    known = [name for name in REFERENCES if name in report.gains]
    for name in known + [name for name in report.gains if name not in REFERENCES]:
        values = report.gains[name]
        text = times_text(values["gain"])
        if "low" in values and "high" in values:
            text += f" ({interval_text(values['low'], values['high'])})"
        yield REFERENCES.get(name, name), text


def headline(report: TuneReport) -> str:
    """Returns the result in one sentence."""
    gain = report.gains.get("baseline", {}).get("gain")
    row, baseline = plan_row(report), baseline_row(report)
    before = baseline.step_ms if baseline is not None else None
    after = row.step_ms if row is not None else None
    if gain is None and before and after:
        gain = before / after
    if (
        row is None
        and any(one.verdict == FASTER for one in report.rows)
        and not is_confirmed(report)
    ):
        return "No plan: there was no fresh run to confirm a gain, your step stays as it is"
    if row is None or gain is None:
        return "No trick pays off: your step stays as it is"
    times = f": {ms_text(before)} -> {ms_text(after)} ms" if before and after else ""
    return f"{times_text(gain)} faster than your step{times}"


def is_confirmed(report: TuneReport) -> bool:
    return any(row.phase == "confirm" for row in report.rows)


def times_text(value: float) -> str:
    return f"{value:.2f}x" if value < 9.995 else f"{value:.1f}x"


def interval_text(low: float, high: float) -> str:
    digits = 2 if high < 9.995 else 1
    return f"{low:.{digits}f}-{high:.{digits}f}"


def ms_text(ms: float) -> str:
    return f"{ms:.1f}" if ms >= 9.995 else f"{ms:.2f}" if ms >= 0.9995 else f"{ms:.3f}"


def bytes_text(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 999.95:
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def duration_text(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
