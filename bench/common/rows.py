"""The results of a benchmark: rows that record their origin, as a table, as JSON and as a chart."""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tundish.report.machine import commit, describe, machine, note, versions

from .result_files import write_rows

ROOT = Path(__file__).resolve().parents[2]

# Instruction sets: values of TUNDISH_CPU, with display names.
CPUS = {"scalar": "scalar", "sse": "SSE4.2", "avx2": "AVX2", "avx512": "AVX-512"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments(description: str, rounds: int) -> argparse.ArgumentParser:
    """Returns an argument parser with the options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    data = os.environ.get("TUNDISH_DATA")
    parser.add_argument(
        "--data",
        default=data,
        help="folder or .tar of images (TUNDISH_DATA); default: a sample set",
    )
    parser.add_argument(
        "--out", type=Path, help="write the rows as JSON, and the chart beside them as .svg"
    )
    parser.add_argument("--rounds", type=int, default=rounds, help=f"interleaved rounds ({rounds})")
    parser.add_argument(
        "--work", type=Path, help="folder for the images and the pack (default: build/bench)"
    )
    return parser


def middle(values: Iterable[float]) -> tuple[float, float]:
    """Returns the median, and half the range divided by the median."""
    values = sorted(values)
    median = statistics.median(values)
    return median, (values[-1] - values[0]) / 2 / median if median else 0.0


def commit_of_bundle() -> str:
    """Returns the commit that `./dev gpu bundle` has recorded; empty outside a bundle."""
    file = ROOT / "commit"
    return file.read_text().strip() if file.is_file() else ""


class Rows:
    """Collects the rows of one run. Each row has the machine, the versions, the commit and the command."""

    def __init__(
        self, bench: str, *packages: str, command: str = "", more: dict[str, str] | None = None
    ) -> None:
        """Collects the versions of `packages` in this environment. `more` has versions from elsewhere."""
        self._bench = bench
        self._rows: list[dict[str, Any]] = []
        # Keep only the last part of a path, because a row must not name folders of this machine.
        words = [os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:]]
        self._origin = {
            "machine": machine(),
            "versions": versions(*packages) | (more or {}),
            "commit": commit_of_bundle() or commit(ROOT),
            "command": " ".join([command or f"./dev bench {bench}", *map(shlex.quote, words)]),
        }

    def set_data(self, about: str, name: str, digest: str) -> None:
        """Sets the dataset that the benchmark uses, which every row records."""
        self._origin |= {"data": about, "data_name": name, "data_digest": digest}

    def add(
        self, contestant: str, metric: str, values: Sequence[float], unit: str, **more: Any
    ) -> float:
        """Adds a row with the values of all runs. Returns their median."""
        median, spread = middle(values)
        row = {
            "bench": self._bench,
            "contestant": contestant,
            "metric": metric,
            "value": round(median, 6),
        }
        row |= {"unit": unit, "runs": len(values), "spread": round(spread, 4)}
        self._rows.append(row | more | self._origin)
        return median

    def note(self, contestant: str, metric: str, text: str, **more: Any) -> None:
        """Adds a row for a contestant without a result, with the reason."""
        row = {
            "bench": self._bench,
            "contestant": contestant,
            "metric": metric,
            "value": None,
            "unit": None,
        }
        self._rows.append(row | {"runs": 0, "spread": None, "reason": text} | more | self._origin)

    def forget(self, **values: Any) -> None:
        """Removes the rows that have these values, so that they can be added again."""
        self._rows = [
            row for row in self._rows if any(row.get(key) != value for key, value in values.items())
        ]

    def heading(self) -> str:
        names = ", ".join(f"{name} {value}" for name, value in self._origin["versions"].items())
        about = self._origin["machine"]
        lines = [describe(about), f"{names}; commit {self._origin['commit']}", note(about)]
        return "\n".join(line for line in lines if line)

    def write(self, out: Path | None, chart: str = "", quiet: bool = False) -> None:
        if out is None:
            return
        write_rows(out, self._rows)
        if not quiet:
            say(f"rows: {out}")
        if chart:
            out.with_suffix(".svg").write_text(chart)
            say(f"chart: {out.with_suffix('.svg')}")


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Formats a table with columns of minimal width. Only the first column is left-aligned."""
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    out = []
    for line in [head, ["-" * width for width in widths], *lines]:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
