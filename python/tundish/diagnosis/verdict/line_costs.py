"""Lines of the loop by the samples of the profiled steps: what each costs, and which of them can be named.

A line is named from LEAST_SAMPLES samples on: fewer say little of its cost, for which five samples are right within
about a half. It has one cost, wherever it is shown. The `for` of a loop is no line to change: its samples are the
loader's.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from typing import Any

from .figures import Figures
from .phrases import shown_path

LEAST_SAMPLES = 5
LONGEST_CODE = 80
_LOOP = re.compile(r"(async\s+)?for\b.*:\s*(#.*)?$")


@dataclass
class LineCost:
    """Of one line, in every step. `outside_s`: in code outside the model that no hook knows."""

    first: dict[str, Any]  # its most frequent place, as facts["lines"] has it
    whole_s: float = 0.0
    outside_s: float = 0.0
    samples: int = 0  # of whole_s
    samples_outside: int = 0

    @property
    def seconds(self) -> float | None:
        """The one cost of the line: outside the model where it has such code; None for too few samples."""
        if self.samples_outside >= LEAST_SAMPLES:
            return self.outside_s
        return self.whole_s if self.samples >= LEAST_SAMPLES else None


def line_costs(facts: dict[str, Any], figures: Figures) -> dict[tuple[str, int, str], LineCost]:
    """By file, line, and the framework's function where the line is one that runs all of it (`trainer.fit`). The measured seconds of each part of the step are divided among the lines by their samples:
    samples are taken less often in some parts than in others, because the sampler needs Python's lock."""
    host = figures.clock == "host"
    parts = figures.host_parts if host and figures.host_parts else figures.parts
    shares: dict[str, float] = {}
    for one in facts["lines"]:
        group = _group(one, host)
        shares[group] = shares.get(group, 0.0) + one["share"]
    found: dict[tuple[str, int, str], LineCost] = {}
    for one in facts["lines"]:
        cost = found.setdefault(_place(one), LineCost(one))
        group = _group(one, host)
        known = parts.get(group)
        seconds = one["share"] * (figures.step_s if known is None else known / shares[group])
        cost.whole_s += seconds
        cost.samples += one["samples"]
        if one["part"] == "other":
            if not cost.samples_outside:
                cost.first = one
            cost.outside_s += seconds
            cost.samples_outside += one["samples"]
    return found


def _place(line: dict[str, Any]) -> tuple[str, int, str]:
    called = line["function"]
    return line["file"], line["line"], called if ": " in called else ""


def _group(line: dict[str, Any], host: bool) -> str:
    """The part whose measured seconds hold this sample. By the GPU's clock only "other" is known to hold its own."""
    return "other" if line["in_other"] and (host or line["part"] == "other") else line["part"]


def line_of(facts: dict[str, Any], part: str) -> str:
    """Where the loop's thread was longest in a part: "train.py:31 (sleep)"; empty where no line can be named."""
    lines: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for one in facts["lines"]:
        if one["part"] == part and not (part != "data" and is_loop_header(one)):
            lines.setdefault(_place(one), []).append(one)
    enough = [one for one in lines.values() if sum(row["samples"] for row in one) >= LEAST_SAMPLES]
    longest = max(enough, key=lambda one: sum(row["share"] for row in one), default=None)
    return place_text(longest[0]) if longest else ""


def is_loop_header(line: dict[str, Any]) -> bool:
    return _LOOP.match(linecache.getline(line["file"], line["line"]).strip()) is not None


def place_text(line: dict[str, Any]) -> str:
    name = line["file"].rpartition("/")[2]
    called = f" ({line['function']})" if line["function"] else ""
    return f"{name}:{line['line']}{called}"


def shown(file: str, line: int, columns: tuple[int, int] = (0, 0)) -> str:
    """With its code; relative to the folder we are in, if the file is below it. Of a long line, the part that
    `columns` (in bytes) name."""
    text = linecache.getline(file, line)
    code = text.strip()
    if len(code) > LONGEST_CODE:
        first, last = columns
        part = text.encode()[first:last].decode("utf-8", "replace").strip()
        code = f"... {part}" if part and len(part) < len(code) else code
    if len(code) > LONGEST_CODE:
        code = code[: LONGEST_CODE - 4] + " ..."
    return f"{shown_path(file)}:{line}" + (f"  {code}" if code else "")
