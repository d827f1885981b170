"""Compares two reports of the doctor to detect a slower step."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from ..._c.errors import ArgumentError
from ..verdict.figures import PARTS
from ..verdict.verdict import VERSION
from .verdict_text import NAMES, ms


@dataclass
class Comparison:
    """Seconds per step in two reports. `change` is relative: 0.1 is 10 % slower."""

    before_s: float
    after_s: float
    change: float
    threshold: float
    slower: bool  # by more than the threshold
    parts: dict[str, list[float]]  # before and after
    ceilings: list[float]
    causes: list[str | None]
    sentences: list[str]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}


def compare(before: dict[str, Any], after: dict[str, Any], threshold: float) -> Comparison:
    """Compares two results of read_report()."""
    old, new = before["figures"], after["figures"]
    change = new["step_s"] / old["step_s"] - 1
    parts = {part: [figures["parts"].get(part, 0.0) for figures in (old, new)] for part in PARTS}
    return Comparison(
        before_s=old["step_s"],
        after_s=new["step_s"],
        change=change,
        threshold=threshold,
        slower=change > threshold,
        parts={part: pair for part, pair in parts.items() if any(pair)},
        ceilings=[old["ceiling_s"], new["ceiling_s"]],
        causes=[(report.get("cause") or {}).get("name") for report in (before, after)],
        sentences=[before["sentence"], after["sentence"]],
        notes=_notes(before, after),
    )


def read_report(path: str) -> dict[str, Any]:
    """Reads a report written by `tundish doctor -o`. Raises ArgumentError for other files."""
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path}: not JSON: {error}") from None
    fix = "\n  fix: tundish doctor -o FILE -- python train.py"
    if not isinstance(values, dict) or "figures" not in values or "sentence" not in values:
        raise ArgumentError(f"{path}: not a report of tundish doctor{fix}")
    if values.get("version") != VERSION:
        raise ArgumentError(f"{path}: version {values.get('version')!r}, not {VERSION}{fix}")
    if values["figures"] is None:
        raise ArgumentError(f"{path}: the report contains no step: {values['sentence']}{fix}")
    if not _is_complete(values):
        raise ArgumentError(f"{path}: the figures are incomplete{fix}")
    return values


def _is_complete(values: dict[str, Any]) -> bool:
    found, cause = values["figures"], values.get("cause")
    if not isinstance(found, dict) or not isinstance(values["sentence"], str):
        return False
    parts = found.get("parts")
    if not isinstance(parts, dict) or not all(_is_seconds(seconds) for seconds in parts.values()):
        return False
    named = cause is None or (isinstance(cause, dict) and isinstance(cause.get("name"), str))
    groups = all(
        isinstance(values.get(name), dict | None) for name in ("machine", "torch", "loader")
    )
    step, ceiling = found.get("step_s"), found.get("ceiling_s")
    return named and groups and _is_seconds(ceiling) and _is_seconds(step) and step != 0


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


def comparison_text(found: Comparison) -> str:
    """Formats a comparison for a terminal."""
    direction = "slower" if found.change > 0 else "faster"
    lines = [
        "",
        f"  The step is {abs(found.change):.1%} {direction}: {ms(found.before_s)} -> {ms(found.after_s)}".replace(
            "%", " %"
        ),
        "",
    ]
    rows = {NAMES.get(part, part): pair for part, pair in found.parts.items()}
    for name, (old, new) in {**rows, "if data were free": found.ceilings}.items():
        lines.append(f"    {name:<20}{ms(old):>10}   {ms(new):>10}")
    if found.causes[0] != found.causes[1]:
        lines += ["", f"  before: {found.sentences[0]}", f"  after:  {found.sentences[1]}"]
    lines += [f"  note: {note}" for note in found.notes]
    limit = f"{found.threshold:.1%}".replace("%", " %")
    lines += ["", f"  More than {limit} slower: {'yes' if found.slower else 'no'}", ""]
    return "\n".join(lines)


# properties that comparable runs share: a name, and its location in the JSON
_SAME = (
    ("machine", "machine", "cpu"),
    ("GPU", "torch", "gpu"),
    ("batch size", "loader", "batch_size"),
    ("clock", "figures", "clock"),
)


def _notes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    out = []
    for name, group, key in _SAME:
        old, new = ((report.get(group) or {}).get(key) for report in (before, after))
        if old != new:
            out.append(f"different {name}: {old}, then {new}")
    for when, report in (("before", before), ("after", after)):
        if report["figures"].get("few"):
            out.append(f"{when}: few steps, so the figures are noisy")
        busy = (report.get("machine") or {}).get("busy", 0)
        if isinstance(busy, int | float) and busy >= 0.15:
            out.append(f"{when}: other processes used the CPUs, so the figures are noisy")
    return out
