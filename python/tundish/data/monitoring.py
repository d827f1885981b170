"""What a loader reports about itself: figures for a logger, and a report of its bad samples."""

from __future__ import annotations

import json
import os
from typing import Any

_DONE = {"substitute": "replaced", "nothing": "left out", "zeros": "delivered as zeros"}


def about_bad(first: dict[str, Any]) -> str:
    """A warning, once."""
    done = _DONE[first["delivered"]]
    return f"a bad sample was {done}; loader.bad_samples() lists all\n{first['text']}"


def about_hanging(text: bytes) -> str:
    """A warning."""
    return (
        f"the loader waits: {text.decode('utf-8', 'replace')}\n"
        "  fix: check the disk or the network file system that holds it"
    )


def report(path: str, stats: dict[str, Any], listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Every count is exact; the list ends after the first 10,000."""
    return {
        "path": path,
        "delivered": stats["data/samples"],
        "replaced": stats["data/replaced"],
        "skipped": stats["data/skipped"],
        "zeros": stats["data/zeros"],
        "bad": stats["data/bad"],
        "listed": len(listed),
        "bad_samples": listed,
    }


def _instead(one: dict[str, Any]) -> str:
    if one["delivered"] == "zeros":
        return "zeros"
    return "-" if one["replaced_by"] is None else f"{one['replaced_by']:,}"


def table(report: dict[str, Any]) -> str:
    """The same for people."""
    lines = [
        f"{report['path']}: {report['delivered']:,} samples delivered, {report['bad']:,} bad, "
        f"{report['replaced']:,} places filled with another, {report['skipped']:,} left empty"
        + (f", {report['zeros']:,} images of zeros" if report["zeros"] else "")
    ]
    rows = [
        ("sample", "epoch", "position", "file", "record", "byte", "code", "replaced by", "reason")
    ]
    for one in report["bad_samples"]:
        file = one["file"] + (f" ({one['key']})" if one["key"] else "")
        rows.append(
            (
                f"{one['sample']:,}",
                str(one["epoch"]),
                f"{one['position']:,}",
                file,
                "-" if one["record"] is None else f"{one['record']:,}",
                "-" if one["offset"] is None else f"{one['offset']:,}",
                one["code"],
                _instead(one),
                " ".join(one["reason"].split()) or "-",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if len(rows) > 1:
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
    if report["listed"] < report["bad"]:
        lines.append(f"... and {report['bad'] - report['listed']:,} more")
    return "\n".join(lines) + "\n"


def write(path: str | os.PathLike[str], report: dict[str, Any]) -> None:
    path = os.fspath(path)
    json_wanted = path.endswith(".json")
    text = json.dumps(report, indent=1) + "\n" if json_wanted else table(report)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def trace_path(path: str | os.PathLike[str], rank: int) -> bytes:
    """The ranks of a run share a command line: "{rank}" in the name gives each rank its own file."""
    return os.fsencode(os.fspath(path).replace("{rank}", str(rank)))
