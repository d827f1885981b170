"""What a loader tells about itself: figures for a logger, and a report of its bad samples."""

from __future__ import annotations

import json
import os
from typing import Any

from ._library import LoaderStats


def stats_dict(stats: LoaderStats) -> dict[str, float]:
    """docs/seeing.md lists the keys."""
    elapsed = stats.elapsed_ns - stats.window_elapsed_ns
    threads = elapsed * stats.threads

    def share(part: int, whole: int) -> float:
        return min(1.0, part / whole) if whole else 0.0

    return {
        "data/batches": stats.batches,
        "data/samples": stats.samples,
        "data/replaced": stats.replaced,
        "data/skipped": stats.skipped,
        "data/zeros": stats.zeros,
        "data/bad": stats.bad,
        "data/bytes": stats.bytes,
        "data/read_s": stats.read_ns / 1e9,
        "data/decode_s": stats.decode_ns / 1e9,
        "data/augment_s": stats.augment_ns / 1e9,
        "data/wait_s": stats.wait_ns / 1e9,
        "data/wait_p50_s": stats.wait_p50_ns / 1e9,
        "data/wait_p99_s": stats.wait_p99_ns / 1e9,
        "data/wait_share": share(stats.wait_ns - stats.window_wait_ns, elapsed),
        "data/read_busy": share(stats.read_ns - stats.window_read_ns, threads),
        "data/decode_busy": share(stats.decode_ns - stats.window_decode_ns, threads),
        "data/augment_busy": share(stats.augment_ns - stats.window_augment_ns, threads),
        "data/ready_batches": stats.ready,
        "data/slots": stats.slots,
        "data/threads": stats.threads,
        "data/memory": stats.memory,
        "data/memory_used": stats.memory_used,
        "data/cache_hits": stats.cache_hits,
        "data/cache_misses": stats.cache_misses,
        "data/cache_hit_share": share(stats.cache_hits, stats.cache_hits + stats.cache_misses),
        "data/cache_bytes": stats.cache_bytes,
        "data/cache_needed": stats.cache_needed,
        "data/cache_room": stats.cache_room,
    }


_DONE = {"substitute": "replaced", "nothing": "left out", "zeros": "delivered as zeros"}


def about_bad(first: dict[str, Any]) -> str:
    """A warning, once."""
    done = _DONE[first["delivered"]]
    return f"a bad sample was {done}; loader.bad_samples() lists all\n{first['text']}"


def about_hanging(text: bytes) -> str:
    """A warning."""
    return (
        f"the loader waits: {text.decode('utf-8', 'replace')}\n"
        "  what now: check the disk or the network file system that holds it"
    )


def report(path: str, stats: LoaderStats, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Every count is exact; the list ends after the first 10,000."""
    return {
        "path": path,
        "delivered": stats.samples,
        "replaced": stats.replaced,
        "skipped": stats.skipped,
        "zeros": stats.zeros,
        "bad": stats.bad,
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


def trace_path(path: str | os.PathLike[str] | None, rank: int) -> bytes | None:
    """The ranks of a run share a command line: "{rank}" in the name tells their files apart."""
    return None if path is None else os.fsencode(os.fspath(path).replace("{rank}", str(rank)))
