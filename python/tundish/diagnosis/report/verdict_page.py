"""Builds the HTML report, a self-contained page, from the JSON report alone."""

from __future__ import annotations

from html import escape

from ...report import html_page as html
from ...report.machine import describe, note
from ..doctor_json import (
    AppliedJson,
    EnvironmentJson,
    FiguresJson,
    FindingWithCodeJson,
    GpuJson,
    RankJson,
    ReportJson,
)
from ..phrases import applied_name
from .code_section import code_block
from .layer_section import layer_parts
from .memory_section import extra_parts
from .step_chart import steps_chart
from .verdict_text import NAMES, ms

WAITING = frozenset(("storage", "decode", "transform", "dataset", "collate", "workers", "loader"))
MODEL = frozenset(("forward", "backward", "optimizer"))
# The parts of a step that each cause refers to. Causes of waiting for data are not listed here.
PARTS = {
    "copy": frozenset(("copy",)),
    "communication": frozenset(("communication",)),
    "straggler": frozenset(("communication",)),
    "host": frozenset(("other",)),
    "launch": MODEL,
    "compute": MODEL,
}
MOST_LINES = 8
MOST_FINDINGS = 40


def report_page(values: ReportJson) -> str:
    """Returns the page. `values` is the JSON that -o writes (docs/doctor-json.md)."""
    parts = [f"<h1>{escape(values['sentence'])}</h1>"]
    parts += [f"<p class='soft'>{escape(text)}</p>" for text in _subtitles(values)]
    figures = values["figures"]
    if figures is not None:
        parts += [
            *_predictions(values, figures),
            *_waterfall(figures, _cause(values)),
            *_gpu(values.get("gpu"), _cause(values)),
            *layer_parts(values.get("layers"), values.get("layers_missing_reason", "")),
            *_steps(values),
            *_ranks(values["ranks"]),
            *_stages(values),
            *_lines(values),
            *extra_parts(values),
        ]
    parts += _applied(values["applied"])
    parts += _findings(values["findings"])
    parts += _environment(values.get("environment") or [])
    parts += ["<h2>How it was measured</h2>", html.table(_measured(values))]
    return html.page(f"tundish doctor: {values.get('command') or 'report'}", parts)


def _subtitles(values: ReportJson) -> list[str]:
    out = [values["command"]] if values.get("command") else []
    if values["cause"] is not None:
        share = f"{values['cause']['share']:.0%}".replace("%", " %")
        out.append(f"Cause: {values['cause']['name']}, {share} of the step.")
    return out


def _cause(values: ReportJson) -> str:
    return values["cause"]["name"] if values["cause"] is not None else ""


def _predictions(values: ReportJson, found: FiguresJson) -> list[str]:
    """Shows the step time now, without data loading, and after each proposed change."""
    step = found["step_s"]
    rows = [html.BarRow("step now", 0, 1, ms(step))]
    free = "if data were free" + ("" if found["ceiling_from"] == "cached" else " (computed)")
    rows.append(html.BarRow(free, 0, _share(found["ceiling_s"], step), ms(found["ceiling_s"])))
    table = []
    for number, change in enumerate(values["changes"], 1):
        text = "to be measured"
        if change["predicted_s"] is not None:
            best = "at best " if change["at_best"] else ""
            text = f"{best}{ms(change['predicted_s'])}" + (
                f", {change['gain']:.1f}x" if change["gain"] else ""
            )
            width = _share(change["predicted_s"], step)
            rows.append(html.BarRow(f"change {number}", 0, width, text, number == 1))
        table.append((str(number), change["what"], text, change["how"]))
    out = ["<h2>The step, and what it could be</h2>"]
    if table:
        out.append("<p class='soft'>Orange: the best change.</p>")
    out.append(html.bars(rows, "milliseconds of a step: " + _accessible_text(rows)))
    if table:
        out += ["<h2>What to change, best first</h2>"]
        out.append(html.grid(["", "change", "predicted step", "how"], table))
    return out


def _waterfall(found: FiguresJson, cause: str) -> list[str]:
    """Shows the parts of a step as bars. Each bar begins where the previous bar ends."""
    marked = frozenset(("data",)) if cause in WAITING else PARTS.get(cause, frozenset())
    step, begin, rows = found["step_s"], 0.0, []
    for part, seconds in found["parts"].items():
        share = _share(seconds, step)
        if share >= 0.005:
            text = f"{ms(seconds)}  {share:.0%}"
            rows.append(html.BarRow(NAMES.get(part, part), begin, share, text, part in marked))
        begin = min(1.0, begin + share)
    clock = "the GPU's clock" if found["clock"] == "gpu" else "the host's clock"
    out = [
        "<h2>Where the time of a step goes</h2>",
        f"<p class='soft'>By {clock}. {_legend(rows, 'the cause')}</p>",
    ]
    return [*out, html.bars(rows, "parts of a step: " + _accessible_text(rows))]


def _legend(rows: list[html.BarRow], meaning: str) -> str:
    return f"Orange: {meaning}." if any(row.ours for row in rows) else ""


def _gpu(seen: GpuJson | None, cause: str) -> list[str]:
    """Shows how busy the GPU is in a profiled step."""
    if not seen or not seen["wall_s"]:
        return []
    whole, busy = seen["wall_s"], seen["busy_s"]
    copies = seen["pageable_copy_s"] + seen["pinned_copy_s"]
    rows = [
        html.BarRow(
            "busy", 0, _share(busy, whole), f"{ms(busy)}  {busy / whole:.0%}", cause == "compute"
        ),
        html.BarRow("copies to the GPU", 0, _share(copies, whole), ms(copies)),
        html.BarRow("host waits for the GPU", 0, _share(seen["wait_s"], whole), ms(seen["wait_s"])),
    ]
    about = f"{seen['kernels']:.0f} kernels per step, {seen['kernel_s'] * 1e6:.1f} us each, in the profiled steps."
    out = ["<h2>The GPU</h2>", f"<p class='soft'>{escape(about)}</p>"]
    return [*out, html.bars(rows, "the GPU in a step: " + _accessible_text(rows))]


def _steps(values: ReportJson) -> list[str]:
    waiting_is_cause = _cause(values) in WAITING
    chart = steps_chart(values["steps"], waiting_is_cause)
    if not chart:
        return []
    about = "Gray: the step without waiting. Orange: waiting for data."
    if not waiting_is_cause:
        about = "Orange: the step without waiting. Gray: waiting for data, which is not the cause."
    return [
        "<h2>Step by step</h2>",
        f"<p class='soft'>{about}</p>",
        html.card(chart, scrolls=True),
    ]


def _ranks(ranks: list[RankJson]) -> list[str]:
    if not ranks:
        return []
    rows = [
        html.BarRow(
            f"rank {rank['rank']}", 0, _share(rank["waits_s"], rank["step_s"]), ms(rank["waits_s"])
        )
        for rank in ranks
    ]
    label = "waiting for the other ranks in a step: " + _accessible_text(rows)
    return ["<h2>Time each rank waits for the others</h2>", html.bars(rows, label)]


def _stages(values: ReportJson) -> list[str]:
    inside = values["loading"]
    if inside is None or not inside["batch_s"]:
        return []
    rows, whole = [], inside["batch_s"]
    slowest = max(inside["stages"], key=lambda stage: inside["stages"][stage])
    for stage, seconds in inside["stages"].items():
        share = _share(seconds, whole)
        if share >= 0.005:
            text = f"{ms(seconds)}  {share:.0%}"
            rows.append(html.BarRow(stage, 0, share, text, stage == slowest))
    out = ["<h2>Inside the loader</h2>"]
    about = f"One process needs {ms(whole)} per batch and is blocked for {ms(inside['blocked_s'])} of this time. Orange: the longest stage."
    out += [
        f"<p class='soft'>{escape(about)}</p>",
        html.bars(rows, "stages: " + _accessible_text(rows)),
    ]
    table = [(row["name"], row["stage"], ms(row["s"])) for row in inside["rows"][:MOST_LINES]]
    return [*out, html.grid(["function", "stage", "per batch"], table)] if table else out


def _lines(values: ReportJson) -> list[str]:
    rows = [line for line in values["lines"] if line["part"] == "other" and line["share"] >= 0.01]
    rows = rows[:MOST_LINES]
    if not rows:
        return []
    out = ["<h2>Lines of the loop outside the model</h2>"]
    for row in rows:
        share = f"{row['share']:.0%}".replace("%", " %")
        called = f", in {row['function']}" if row["function"] else ""
        out.append(code_block(row, f"{share} of the sampled time{called}"))
    return out


def _applied(applied: AppliedJson | None) -> list[str]:
    if applied is None:
        return []
    rows = [
        ("change", f"{applied_name(applied)}  {applied['what']}"),
        ("tried", "yes" if applied["done"] else "no"),
    ]
    steps = {"predicted": applied["predicted_s"], "measured": applied["measured_s"]}
    rows += [(name, ms(seconds)) for name, seconds in steps.items() if seconds is not None]
    if applied["difference"] is not None:
        rows.append(("difference", f"{applied['difference']:+.1%}"))
    rows += [("details", applied["text"]), ("new verdict", applied["sentence"])]
    return ["<h2>Applied change</h2>", html.table([row for row in rows if row[1]])]


def _findings(findings: list[FindingWithCodeJson]) -> list[str]:
    if not findings:
        return []
    out = ["<h2>Checks</h2>"]
    about = "Findings of tundish check in the source, and of checks that need the running script."
    out.append(f"<p class='soft'>{about}</p>")
    for finding in findings[:MOST_FINDINGS]:
        cost = f" ({ms(finding['seconds'])} per step)" if finding["seconds"] else ""
        out.append(
            code_block(finding, f"{finding['check']}: {finding['text']}{cost}", finding["fix"])
        )
    if len(findings) > MOST_FINDINGS:
        out.append(f"<p>and {len(findings) - MOST_FINDINGS} more: tundish check</p>")
    return out


def _environment(findings: list[EnvironmentJson]) -> list[str]:
    """Shows the findings about the machine. Problems come first."""
    if not findings:
        return []
    order = {"problem": 0, "warning": 1}
    rows = [
        (
            finding["level"],
            f"{finding['area']}: {finding['name']}",
            finding["figure"],
            _reason_and_fix(finding),
        )
        for finding in sorted(findings, key=lambda finding: order.get(finding["level"], 2))
    ]
    out = ["<h2>Environment</h2>", "<p class='soft'>From tundish env.</p>"]
    return [*out, html.grid(["", "what", "figure", "reason and fix"], rows)]


def _reason_and_fix(finding: EnvironmentJson) -> str:
    return (
        f"{finding['reason']}. Fix: {finding['fix']}" if finding["fix"] else str(finding["reason"])
    )


def _measured(values: ReportJson) -> list[tuple[str, str]]:
    rows = []
    found = values["figures"]
    if found is not None:
        cached = (
            f", {found['cached_batches']} with cached batches" if found["cached_batches"] else ""
        )
        rows.append(("steps", f"{found['steps']}{cached}"))
        cost = values["overhead_s"]
        if cost is not None:
            share = _share(cost, found["step_s"])
            rows.append(("measuring adds", f"{ms(cost)} per step ({share:.1%})"))
    rows += [("note", text) for text in values["notes"]]
    loader = values["loader"] or {}
    settings = [f"{key} {value}" for key, value in loader.items() if isinstance(value, str | int)]
    rows.append(("loader", ", ".join(settings)))
    about = values.get("machine")
    if about:
        rows.append(("machine", describe(about)))
        rows += [("note", note(about))] if note(about) else []
    rows.append(("versions", ", ".join(f"{k} {v}" for k, v in values.get("versions", {}).items())))
    return [row for row in rows if row[1]]


def _share(seconds: float, whole: float) -> float:
    return min(1.0, seconds / whole) if whole else 0.0


def _accessible_text(rows: list[html.BarRow]) -> str:
    return "; ".join(f"{row.name} {row.text}" for row in rows)
