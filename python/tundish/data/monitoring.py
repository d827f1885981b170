"""Warnings of a loader, and its report of bad samples."""

from __future__ import annotations

import json
import os
from typing import Any

_DONE = {"substitute": "replaced", "nothing": "left out", "zeros": "delivered as zeros"}


def bad_sample_warning(first: dict[str, Any]) -> str:
    """Returns the warning about the first bad sample."""
    done = _DONE[first["delivered"]]
    return f"a bad sample was {done}; loader.bad_samples() lists all\n{first['text']}"


def hang_warning(text: bytes) -> str:
    """Returns the warning about a loader that waits too long."""
    return (
        f"the loader waits: {text.decode('utf-8', 'replace')}\n"
        "  fix: check the disk or the network file system that it waits for"
    )


def report(path: str, stats: dict[str, Any], listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a report for JSON. Counts are exact; at most the first 10,000 bad samples are listed."""
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


def _replacement_text(sample: dict[str, Any]) -> str:
    if sample["delivered"] == "zeros":
        return "zeros"
    return "-" if sample["replaced_by"] is None else f"{sample['replaced_by']:,}"


def report_table(report: dict[str, Any]) -> str:
    """Formats a report as a table."""
    lines = [
        f"{report['path']}: {report['delivered']:,} samples delivered, {report['bad']:,} bad, "
        f"{report['replaced']:,} places filled with another, {report['skipped']:,} left empty"
        + (f", {report['zeros']:,} images of zeros" if report["zeros"] else "")
    ]
    rows = [
        ("sample", "epoch", "position", "file", "record", "byte", "code", "replaced by", "reason")
    ]
    for sample in report["bad_samples"]:
        file = sample["file"] + (f" ({sample['key']})" if sample["key"] else "")
        rows.append(
            (
                f"{sample['sample']:,}",
                str(sample["epoch"]),
                f"{sample['position']:,}",
                file,
                "-" if sample["record"] is None else f"{sample['record']:,}",
                "-" if sample["offset"] is None else f"{sample['offset']:,}",
                sample["code"],
                _replacement_text(sample),
                " ".join(sample["reason"].split()) or "-",
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


def write_report(path: str | os.PathLike[str], report: dict[str, Any]) -> None:
    path = os.fspath(path)
    json_wanted = path.endswith(".json")
    text = json.dumps(report, indent=1) + "\n" if json_wanted else report_table(report)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def trace_path(path: str | os.PathLike[str], rank: int) -> bytes:
    """Returns the trace file of a rank. All ranks share a command line, so "{rank}" in the name is replaced."""
    return os.fsencode(os.fspath(path).replace("{rank}", str(rank)))
