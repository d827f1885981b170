"""Two tables of a step, as Lightning's profilers give them: parts of the loop, and functions of the host.

The time of a GPU is taken by events on its stream: a part has the time of the kernels that it launched, not that of the call
that happened to wait for them.
"""

from __future__ import annotations

from typing import Any

from ..verdict.figures import PARTS


def tables(facts: dict[str, Any]) -> dict[str, Any]:
    """`advanced` is null where cProfile did not run."""
    recorded = facts.get("recorded") or {}
    return {"simple": simple_table(facts), "advanced": recorded.get("functions")}


def simple_table(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Of all measured steps together; parts that never were are left out."""
    steps = [one for one in facts.get("steps", []) if one["phase"] == "measure"]
    steps = [one for one in steps if not one["boundary"]]
    on_gpu = bool(steps) and all(one["gpu_seconds"] for one in steps)
    host = {part: sum(one["seconds"].get(part, 0.0) for one in steps) for part in PARTS}
    gpu = {part: sum(one["gpu_seconds"].get(part, 0.0) for one in steps) for part in PARTS}
    whole, whole_gpu = sum(host.values()), sum(gpu.values())
    rows = []
    for part in PARTS:
        count = sum(one.get("counts", {}).get(part, 0) for one in steps)
        count = len(steps) if part == "other" else count
        if not count or not host[part] + gpu[part]:
            continue
        rows.append(
            {
                "part": part,
                "count": count,
                "mean_s": host[part] / count,
                "total_s": host[part],
                "share": host[part] / whole if whole else 0.0,
                "gpu_mean_s": gpu[part] / count if on_gpu else None,
                "gpu_total_s": gpu[part] if on_gpu else None,
                "gpu_share": gpu[part] / whole_gpu if on_gpu and whole_gpu else None,
            }
        )
    return rows
