"""Groups the rows of a report by search phase. Labels only show how rows of a phase differ."""

from __future__ import annotations

from dataclasses import dataclass

from .report_queries import trick_set, trick_title
from .results import Row, TuneReport


@dataclass(frozen=True)
class Section:
    head: str  # name of the phase, and the tricks shared by its rows; empty for references
    rows: list[tuple[str, Row]]  # (label, row)


def sections(report: TuneReport) -> list[Section]:
    """Returns the sections of a report. Omits the confirming run, whose result is shown as gains."""
    by_phase: dict[str, list[Row]] = {}
    for row in report.rows:
        if row.phase != "confirm":
            by_phase.setdefault(row.phase, []).append(row)
    return [_section(phase, rows) for phase, rows in by_phase.items()]


def _section(phase: str, rows: list[Row]) -> Section:
    if phase == "reference":
        return Section("", [(row.label, row) for row in rows])
    sets = [trick_set(row) for row in rows]
    union = frozenset().union(*sets)
    if phase == "removal":
        named = [(_without(union - tricks), row) for tricks, row in zip(sets, rows)]
        return Section("removal of single tricks", named)
    common = sets[0].intersection(*sets) if len(sets) > 1 else frozenset()
    if not common:
        return Section(phase, [(row.label, row) for row in rows])
    titles = [trick_title(values) for values in rows[0].tricks]
    head = f"{phase}, each with " + " + ".join(title for title in titles if title in common)
    return Section(head, [(_rest(row, common), row) for row in rows])


def _rest(row: Row, common: frozenset[str]) -> str:
    titles = [trick_title(values) for values in row.tricks]
    return " + ".join(title for title in titles if title not in common) or "only these"


def _without(missing: frozenset[str]) -> str:
    return "without " + ", ".join(sorted(missing)) if missing else "all"
