"""Computes the cost of lines from the samples of the profiled steps.

A line is reported if it has LEAST_SAMPLES samples or more. Five samples determine its cost within
about a factor of 1.5. The cost of a line is the same wherever it is shown. The `for` line of a loop is
not reported, because its samples belong to the loader.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass

from ..phrases import shown_path
from ..probe.facts import Facts, LineFacts
from .figures import Figures

LEAST_SAMPLES = 5
LONGEST_CODE = 80
_LOOP = re.compile(r"(async\s+)?for\b.*:\s*(#.*)?$")


@dataclass
class LineCost:
    """The cost of one line per step.

    `outside_s` is the time outside the model and outside all hooks.
    """

    first: LineFacts  # its most frequent entry in Facts.lines
    whole_s: float = 0.0
    outside_s: float = 0.0
    samples: int = 0  # number of samples that whole_s is based on
    samples_outside: int = 0

    @property
    def seconds(self) -> float | None:
        """The cost outside the model if there is one, otherwise the whole cost.

        None if there are too few samples.
        """
        if self.samples_outside >= LEAST_SAMPLES:
            return self.outside_s
        return self.whole_s if self.samples >= LEAST_SAMPLES else None


def line_costs(facts: Facts, figures: Figures) -> dict[tuple[str, int, str], LineCost]:
    """Returns costs by file, line and framework function.

    The function is "" unless the line runs a framework's loop (`trainer.fit`). The measured time of
    each part of the step is divided among lines in proportion to their samples. Samples alone would be
    biased: the sampler needs the GIL, so it runs less often in some parts.
    """
    host = figures.clock == "host"
    parts = figures.host_parts if host and figures.host_parts else figures.parts
    shares: dict[str, float] = {}
    for line in facts.lines:
        group = _group(line, host)
        shares[group] = shares.get(group, 0.0) + line.share
    found: dict[tuple[str, int, str], LineCost] = {}
    for line in facts.lines:
        cost = found.setdefault(_line_key(line), LineCost(line))
        group = _group(line, host)
        known = parts.get(group)
        seconds = line.share * (figures.step_s if known is None else known / shares[group])
        cost.whole_s += seconds
        cost.samples += line.samples
        if line.part == "other":
            if not cost.samples_outside:
                cost.first = line
            cost.outside_s += seconds
            cost.samples_outside += line.samples
    return found


def _line_key(line: LineFacts) -> tuple[str, int, str]:
    called = line.function
    return line.file, line.line, called if ": " in called else ""


def _group(line: LineFacts, host: bool) -> str:
    """Returns the part of the step whose measured time includes this sample.

    With GPU times, this is only known for the part "other".
    """
    return "other" if line.in_other and (host or line.part == "other") else line.part


def longest_line(facts: Facts, part: str) -> str:
    """Returns the line that takes most of a part, such as "train.py:31 (sleep)"; "" if there is none."""
    lines: dict[tuple[str, int, str], list[LineFacts]] = {}
    for line in facts.lines:
        if line.part == part and not (part != "data" and is_loop_header(line)):
            lines.setdefault(_line_key(line), []).append(line)
    enough = [rows for rows in lines.values() if sum(row.samples for row in rows) >= LEAST_SAMPLES]
    longest = max(enough, key=lambda rows: sum(row.share for row in rows), default=None)
    return line_text(longest[0]) if longest else ""


def is_loop_header(line: LineFacts) -> bool:
    return _LOOP.match(linecache.getline(line.file, line.line).strip()) is not None


def line_text(line: LineFacts) -> str:
    return location_text(line.file, line.line, line.function)


def location_text(file: str, line: int, function: str = "") -> str:
    called = f" ({function})" if function else ""
    return f"{file.rpartition('/')[2]}:{line}{called}"


def shown(file: str, line: int, columns: tuple[int, int] = (0, 0)) -> str:
    """Returns file, line and code. The path is relative to the working folder if possible.

    `columns` (in bytes) is the part of a long line to show.
    """
    text = linecache.getline(file, line)
    code = text.strip()
    if len(code) > LONGEST_CODE:
        first, last = columns
        part = text.encode()[first:last].decode("utf-8", "replace").strip()
        code = f"... {part}" if part and len(part) < len(code) else code
    if len(code) > LONGEST_CODE:
        code = code[: LONGEST_CODE - 4] + " ..."
    return f"{shown_path(file)}:{line}" + (f"  {code}" if code else "")
