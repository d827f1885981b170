"""Computes two tables like the ones of Lightning's profilers: parts of a step, and Python functions.

GPU times come from events on the loop's stream. They count the kernels that a part launched, not the
time that the host waited in a call.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..doctor_json import PartJson, TablesJson
from ..probe.facts import Facts
from .figures import PARTS


def tables(facts: Facts) -> TablesJson:
    """Returns both tables. `advanced` is None if cProfile did not run."""
    functions = facts.recorded.functions
    advanced: Any = asdict(functions) if functions else None
    return {"simple": simple_table(facts), "advanced": advanced}


def simple_table(facts: Facts) -> list[PartJson]:
    """Returns the total time of each part in all measured steps. Omits parts that never ran."""
    steps = [step for step in facts.steps if step.phase == "measure"]
    steps = [step for step in steps if not step.boundary]
    on_gpu = bool(steps) and all(step.gpu_seconds for step in steps)
    host = {part: sum(step.seconds.get(part, 0.0) for step in steps) for part in PARTS}
    gpu = {part: sum(step.gpu_seconds.get(part, 0.0) for step in steps) for part in PARTS}
    whole, whole_gpu = sum(host.values()), sum(gpu.values())
    rows: list[PartJson] = []
    for part in PARTS:
        count = sum(step.counts.get(part, 0) for step in steps)
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
