"""Formats the sections on tables, memory and the timeline for a terminal."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from ..doctor_json import FunctionsJson, MemoryJson, PartJson, TimelineJson
from ..verdict.step_tables import tables

MOST_FUNCTIONS = 20
_OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
MOST_ROWS = 12
MOST_LONG_LIVED = 5
_KINDS = {"optimizer": "optimizer state", "batch": "the batch", "buffers": "buffers"}


def extra_lines(verdict: Any) -> list[str]:
    """Returns the lines of all sections that a Verdict has data for."""
    out = []
    if verdict.table:
        found = tables(verdict.facts)
        out += _simple(found["simple"])
        if verdict.table == "advanced" and found["advanced"]:
            out += _advanced(found["advanced"])
    memory = verdict.facts.recorded.memory
    values: Any = asdict(memory) if memory else None
    out += memory_lines(values)
    return out + _timeline(verdict.timeline)


def size_text(size: float) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(size) >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size:.0f} B"


def kind_name(kind: str) -> str:
    return _KINDS.get(kind, kind)


def location_text(file: str, line: int, inner: str = "") -> str:
    if not line:
        return inner
    return f"{file.rpartition('/')[2]}:{line}" + (f" in {inner}" if inner else "")


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:,.2f}"


def _simple(rows: list[PartJson]) -> list[str]:
    from .verdict_text import NAMES

    if not rows:
        return []
    on_gpu = rows[0]["gpu_total_s"] is not None
    more = f"{'GPU mean ms':>13}{'GPU total':>11}{'share':>7}" if on_gpu else ""
    lines = ["", "  Measured steps, by part"]
    lines.append(f"    {'part':<20}{'calls':>7}{'mean ms':>10}{'total ms':>11}{'share':>7}{more}")
    for row in rows:
        name = NAMES.get(row["part"], row["part"])
        text = f"    {name:<20}{row['count']:>7}{_ms(row['mean_s']):>10}{_ms(row['total_s']):>11}{row['share']:>7.0%}"
        if on_gpu:
            text += (
                f"{_ms(row['gpu_mean_s']):>13}{_ms(row['gpu_total_s']):>11}{row['gpu_share']:>7.0%}"
            )
        lines.append(text)
    return lines


def _advanced(found: FunctionsJson) -> list[str]:
    head = f"  Functions of the loop's thread, per step ({found['steps']} separate steps with cProfile)"
    lines = ["", head, f"    {'calls':>8}{'own ms':>10}{'all ms':>10}   function"]
    for row in found["rows"][:MOST_FUNCTIONS]:
        name = row["file"].rpartition("/")[2]
        where = f"  {name}:{row['line']}" if name else ""
        if row["file"].startswith(_OURS):
            waits = row["function"] == "Run._request_batch"
            where += "  (tundish.Loader: waiting for a batch)" if waits else "  (Tundish)"
        own, whole = _ms(row["own_s"]), _ms(row["all_s"])
        lines.append(f"    {row['calls']:>8.1f}{own:>10}{whole:>10}   {row['function']}{where}")
    return lines


def memory_lines(found: MemoryJson | None) -> list[str]:
    if not found:
        return []
    from .verdict_text import NAMES

    peak = found["peak_bytes"]
    at = location_text(found["file"], found["line"])
    where = f"{NAMES.get(found['part'], found['part'])}{f', {at}' if at else ''}"
    lines = ["", f"  Memory at the peak of a step: {size_text(peak)} in {where}"]
    predicted = found["predicted"]
    if predicted:
        text = (
            f"{size_text(predicted['peak_bytes'])} in {predicted['part']}, by {predicted['method']}"
        )
        lines.append(f"    {'predicted':<20}{text}")
    elif found["predicted_missing_reason"]:
        lines.append(
            f"    {'predicted':<20}failed: {found['predicted_missing_reason'].splitlines()[0]}"
        )
    for kind, size in sorted(found["kinds"].items(), key=lambda item: -item[1]):
        lines.append(f"    {kind_name(kind):<20}{size_text(size):>11}   {size / peak:>4.0%}")
    rows = [row for row in found["rows"] if row["line"]][:MOST_ROWS]
    if rows:
        lines += ["", "  Lines that hold the memory"]
    lines += [
        f"    {size_text(row['bytes']):>11}  {kind_name(row['kind']):<16} {location_text(row['file'], row['line'], row['inner'])}"
        for row in rows
    ]
    if found["long_lived"]:
        lines += ["", "  Tensors that outlive their step"]
    for tensor in found["long_lived"][:MOST_LONG_LIVED]:
        grows = (
            f", {size_text(tensor['bytes_per_step'])} more in each step"
            if tensor["reason"] == "grows"
            else ""
        )
        graph = "; holds its autograd graph: keep x.detach()" if tensor["holds_graph"] else ""
        lines.append(
            f"    {size_text(tensor['bytes']):>11}  {tensor['reason']}{grows}: {location_text(tensor['file'], tensor['line'])}{graph}"
        )
    return lines + [f"  note: {text}" for text in found["notes"]]


def _timeline(found: TimelineJson | None) -> list[str]:
    if not found:
        return []
    if not found["steps"]:
        return [f"  note: {text}" for text in found["notes"]]
    seen = found["sources"]
    counts = [f"{count:,} of {name}" for name, count in seen.items() if count]
    dropped = f"; {found['dropped']:,} did not fit" if found["dropped"] else ""
    lines = [
        "",
        f"  Timeline of {found['steps']} steps: {found['file']} (open it in ui.perfetto.dev)",
    ]
    lines.append(f"    events: {', '.join(counts)}{dropped}")
    return lines + [f"  note: {text}" for text in found["notes"]]
