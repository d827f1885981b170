"""The report: one HTML page that needs no other file, made of the JSON alone."""

from __future__ import annotations

from html import escape
from typing import Any

from ...report import html_page as html
from ...report.machine import describe, note
from ..process.apply_change import applied_name
from .code_section import code_block
from .layer_section import layer_parts
from .memory_section import extra_parts
from .step_chart import steps_chart
from .verdict_text import NAMES, ms

MOST_LINES = 8
MOST_FINDINGS = 40


def report_page(values: dict[str, Any]) -> str:
    """`values`: what -o writes (docs/doctor-json.md)."""
    parts = [f"<h1>{escape(values['sentence'])}</h1>"]
    parts += [f"<p class='soft'>{escape(text)}</p>" for text in _under_the_title(values)]
    if values["figures"] is not None:
        parts += [
            *_what_if(values),
            *_waterfall(values["figures"]),
            *_gpu(values.get("gpu")),
            *layer_parts(values),
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


def _under_the_title(values: dict[str, Any]) -> list[str]:
    out = [values["command"]] if values.get("command") else []
    if values["cause"] is not None:
        share = f"{values['cause']['share']:.0%}".replace("%", " %")
        out.append(f"Cause: {values['cause']['name']}, {share} of the step.")
    return out


def _what_if(values: dict[str, Any]) -> list[str]:
    """The step now, without loading, and after each change."""
    found = values["figures"]
    step = found["step_s"]
    rows = [html.BarRow("step now", 0, 1, ms(step))]
    free = "if data were free" + ("" if found["ceiling_from"] == "replay" else " (computed)")
    rows.append(html.BarRow(free, 0, _share(found["ceiling_s"], step), ms(found["ceiling_s"])))
    table = []
    for number, one in enumerate(values["changes"], 1):
        text = "to be measured"
        if one["predicted_s"] is not None:
            best = "at best " if one["at_best"] else ""
            text = f"{best}{ms(one['predicted_s'])}" + (
                f", {one['gain']:.1f}x" if one["gain"] else ""
            )
            width = _share(one["predicted_s"], step)
            rows.append(html.BarRow(f"change {number}", 0, width, text, number == 1))
        table.append((str(number), one["what"], text, one["how"]))
    out = ["<h2>The step, and what it could be</h2>"]
    out.append(html.bars(rows, "milliseconds of a step: " + _spoken(rows)))
    if table:
        out += ["<h2>What to change, best first</h2>"]
        out.append(html.grid(["", "change", "predicted step", "how"], table))
    return out


def _waterfall(found: dict[str, Any]) -> list[str]:
    """Every part begins where the one before it ends."""
    step, begin, rows = found["step_s"], 0.0, []
    for part, seconds in found["parts"].items():
        share = _share(seconds, step)
        if share >= 0.005:
            text = f"{ms(seconds)}  {share:.0%}"
            rows.append(html.BarRow(NAMES.get(part, part), begin, share, text, part == "data"))
        begin = min(1.0, begin + share)
    clock = "the GPU's clock" if found["clock"] == "gpu" else "the host's clock"
    out = ["<h2>Where the time of a step goes</h2>", f"<p class='soft'>By {clock}.</p>"]
    return [*out, html.bars(rows, "parts of a step: " + _spoken(rows))]


def _gpu(seen: dict[str, Any] | None) -> list[str]:
    """How busy the GPU is in a profiled step."""
    if not seen or not seen["wall_s"]:
        return []
    whole, busy = seen["wall_s"], seen["busy_s"]
    copies = seen["pageable_copy_s"] + seen["pinned_copy_s"]
    rows = [
        html.BarRow("busy", 0, _share(busy, whole), f"{ms(busy)}  {busy / whole:.0%}", True),
        html.BarRow("copies to it", 0, _share(copies, whole), ms(copies)),
        html.BarRow("host waits for it", 0, _share(seen["wait_s"], whole), ms(seen["wait_s"])),
    ]
    about = f"{seen['kernels']:.0f} kernels a step, {seen['kernel_s'] * 1e6:.1f} us each; profiled steps, not in the figures."
    out = ["<h2>The GPU</h2>", f"<p class='soft'>{escape(about)}</p>"]
    return [*out, html.bars(rows, "the GPU in a step: " + _spoken(rows))]


def _steps(values: dict[str, Any]) -> list[str]:
    chart = steps_chart(values["steps"])
    if not chart:
        return []
    about = "Grey: the step without waiting. Orange, on top of it: waiting for data."
    return [
        "<h2>Step by step</h2>",
        f"<p class='soft'>{about}</p>",
        html.card(chart, scrolls=True),
    ]


def _ranks(ranks: list[dict[str, Any]]) -> list[str]:
    if not ranks:
        return []
    rows = [
        html.BarRow(
            f"rank {one['rank']}", 0, _share(one["waits_s"], one["step_s"]), ms(one["waits_s"])
        )
        for one in ranks
    ]
    label = "waiting for the other ranks in a step: " + _spoken(rows)
    return ["<h2>What each rank waits for the others</h2>", html.bars(rows, label)]


def _stages(values: dict[str, Any]) -> list[str]:
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
    about = (
        f"A batch takes one process {ms(whole)}, of which it is blocked {ms(inside['blocked_s'])}."
    )
    out += [f"<p class='soft'>{escape(about)}</p>", html.bars(rows, "stages: " + _spoken(rows))]
    table = [(row["name"], row["stage"], ms(row["s"])) for row in inside["rows"][:MOST_LINES]]
    return [*out, html.grid(["function", "stage", "per batch"], table)] if table else out


def _lines(values: dict[str, Any]) -> list[str]:
    rows = [one for one in values["lines"] if one["part"] == "other" and one["share"] >= 0.01]
    rows = rows[:MOST_LINES]
    if not rows:
        return []
    out = ["<h2>Lines of the loop outside the model</h2>"]
    for one in rows:
        share = f"{one['share']:.0%}".replace("%", " %")
        called = f", in {one['function']}" if one["function"] else ""
        out.append(code_block(one, f"{share} of the sampled time{called}"))
    return out


def _applied(one: dict[str, Any] | None) -> list[str]:
    if one is None:
        return []
    rows = [
        ("change", f"{applied_name(one)}  {one['what']}"),
        ("tried", "yes" if one["done"] else "no"),
    ]
    rows += [(word, ms(one[key])) for word, key in _STEPS if one[key] is not None]
    if one["difference"] is not None:
        rows.append(("difference", f"{one['difference']:+.1%}"))
    rows += [("what was done", one["text"]), ("then", one["sentence"])]
    return ["<h2>The change that was tried</h2>", html.table([row for row in rows if row[1]])]


_STEPS = (("predicted", "predicted_s"), ("measured", "measured_s"))


def _findings(findings: list[dict[str, Any]]) -> list[str]:
    if not findings:
        return []
    out = ["<h2>Checks</h2>"]
    about = "What tundish check finds in the script's text, and what only the running script shows."
    out.append(f"<p class='soft'>{about}</p>")
    for one in findings[:MOST_FINDINGS]:
        cost = f" ({ms(one['seconds'])} of every step)" if one["seconds"] else ""
        out.append(code_block(one, f"{one['check']}: {one['text']}{cost}", one["remedy"]))
    if len(findings) > MOST_FINDINGS:
        out.append(f"<p>and {len(findings) - MOST_FINDINGS} more: tundish check</p>")
    return out


def _environment(findings: list[dict[str, Any]]) -> list[str]:
    """What is not ok comes first."""
    if not findings:
        return []
    order = {"problem": 0, "warning": 1}
    rows = [
        (one["level"], f"{one['area']}: {one['name']}", one["figure"], _mend(one))
        for one in sorted(findings, key=lambda one: order.get(one["level"], 2))
    ]
    out = ["<h2>Environment</h2>", "<p class='soft'>By tundish env.</p>"]
    return [*out, html.grid(["", "what", "figure", "reason and fix"], rows)]


def _mend(one: dict[str, Any]) -> str:
    return f"{one['reason']}. Fix: {one['fix']}" if one["fix"] else str(one["reason"])


def _measured(values: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    found = values["figures"]
    if found is not None:
        replay = f", {found['replayed']} with cached batches" if found["replayed"] else ""
        rows.append(("steps", f"{found['steps']}{replay}"))
        cost = values["overhead_s"]
        if cost is not None:
            share = _share(cost, found["step_s"])
            rows.append(("measuring adds", f"{ms(cost)} per step ({share:.1%})"))
    rows += [("note", text) for text in values["notes"]]
    loader = values["loader"] or {}
    words = [f"{key} {value}" for key, value in loader.items() if isinstance(value, str | int)]
    rows.append(("loader", ", ".join(words)))
    about = values.get("machine")
    if about:
        rows.append(("machine", describe(about)))
        rows += [("note", note(about))] if note(about) else []
    rows.append(("versions", ", ".join(f"{k} {v}" for k, v in values.get("versions", {}).items())))
    return [row for row in rows if row[1]]


def _share(seconds: float, whole: float) -> float:
    return min(1.0, seconds / whole) if whole else 0.0


def _spoken(rows: list[html.BarRow]) -> str:
    return "; ".join(f"{row.name} {row.text}" for row in rows)
