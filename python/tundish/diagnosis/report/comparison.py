"""Compares two reports of `tundish doctor`, to detect a step that has become slower."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from ..._c.errors import ArgumentError
from ..verdict.figures import PARTS
from ..verdict.verdict import VERSION
from .verdict_text import NAMES, ms

MOST_CHARACTERS = 64 << 20  # size limit for a file


@dataclass
class Comparison:
    """The seconds per step in two reports. `change` is relative: 0.1 means 10 % slower."""

    before_s: float
    after_s: float
    change: float
    threshold: float
    slower: bool  # whether the step is slower by more than the threshold
    parts: dict[str, list[float]]  # [seconds before, seconds after] for each part of the step
    ceilings: list[float]
    causes: list[str | None]
    sentences: list[str]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}


@dataclass(frozen=True)
class SavedReport:
    """The values of a report that are compared. `same` contains the properties that must be equal."""

    step_s: float
    ceiling_s: float
    parts: dict[str, float]
    cause: str | None
    sentence: str
    few: bool
    busy: float  # fraction of the CPUs that other processes used
    same: dict[str, object]


def compare(old: SavedReport, new: SavedReport, threshold: float) -> Comparison:
    """Compares two results of read_report()."""
    change = new.step_s / old.step_s - 1
    parts = {part: [report.parts.get(part, 0.0) for report in (old, new)] for part in PARTS}
    return Comparison(
        before_s=old.step_s,
        after_s=new.step_s,
        change=change,
        threshold=threshold,
        slower=change > threshold,
        parts={part: pair for part, pair in parts.items() if any(pair)},
        ceilings=[old.ceiling_s, new.ceiling_s],
        causes=[old.cause, new.cause],
        sentences=[old.sentence, new.sentence],
        notes=_notes(old, new),
    )


def read_report(path: str) -> SavedReport:
    """Reads a report written by `tundish doctor -o`. Raises ArgumentError for other files."""
    try:
        values = json.loads(_read(path))
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
    wrong = _wrong_field(values)
    if wrong:
        raise ArgumentError(f"{path}: the figures are incomplete: {wrong}{fix}")
    found, machine = values["figures"], values.get("machine") or {}
    busy = machine.get("busy", 0)
    return SavedReport(
        step_s=found["step_s"],
        ceiling_s=found["ceiling_s"],
        parts=found["parts"],
        cause=(values.get("cause") or {}).get("name"),
        sentence=values["sentence"],
        few=bool(found.get("few")),
        busy=busy if _is_seconds(busy) else 0.0,
        same={name: (values.get(group) or {}).get(key) for name, group, key in _SAME},
    )


def _read(path: str) -> str:
    """Reads a file up to a size limit, because it may be a device without an end."""
    with open(path, encoding="utf-8") as file:
        text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"more than {MOST_CHARACTERS >> 20} MiB")
    return text


def _wrong_field(values: dict[str, Any]) -> str:
    """Returns the name of the first field that is missing or has the wrong type, or ""."""
    if not isinstance(values["sentence"], str):
        return "sentence"
    for group in ("figures", "cause", "machine", "torch", "loader"):
        if not isinstance(values.get(group), dict | None):
            return group
    found, cause = values["figures"], values.get("cause")
    if cause is not None and not isinstance(cause.get("name"), str):
        return "cause.name"
    for name in ("step_s", "ceiling_s"):
        if not _is_seconds(found.get(name)):
            return f"figures.{name}"
    parts = found.get("parts")
    if not isinstance(parts, dict) or not all(map(_is_seconds, parts.values())):
        return "figures.parts"
    return "figures.step_s" if found["step_s"] == 0 else ""


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


# Properties that must be equal in comparable runs, and the location of each in the JSON.
_SAME = (
    ("machine", "machine", "cpu"),
    ("GPU", "torch", "gpu"),
    ("batch size", "loader", "batch_size"),
    ("clock", "figures", "clock"),
)


def _notes(old: SavedReport, new: SavedReport) -> list[str]:
    out = [
        f"different {name}: {value}, then {new.same[name]}"
        for name, value in old.same.items()
        if value != new.same[name]
    ]
    for when, report in (("before", old), ("after", new)):
        if report.few:
            out.append(f"{when}: few steps, so the figures are noisy")
        if report.busy >= 0.15:
            out.append(f"{when}: other processes used the CPUs, so the figures are noisy")
    return out
