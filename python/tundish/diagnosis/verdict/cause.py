"""Which part bounds the step: one cause, by rules on the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .figures import COMPUTE, Figures
from .line_costs import line_of, place_text
from .loading import Loading

# Waste that is named although the model takes more: a quarter of the step.
NAMED = 0.25
CAUSES = {
    "storage": "reading the samples",
    "decode": "decoding the samples",
    "transform": "transforming the samples",
    "dataset": "the data set's own code",
    "collate": "making batches of samples",
    "workers": "too few worker processes",
    "loader": "the loader",
    "copy": "copies to the GPU",
    "communication": "waiting for other ranks",
    "straggler": "one rank that the others wait for",
    "host": "host code of the loop outside the model",
    "sync": "the host waits for the GPU in every step",
    "launch": "the host launches kernels slower than they run",
    "compute": "the model",
}


@dataclass(frozen=True)
class Cause:
    name: str  # a key of CAUSES
    share: float  # of the step
    detail: str = ""  # a function or a line


def find_cause(facts: dict[str, Any], figures: Figures, inside: Loading | None) -> Cause:
    shares = {
        "data": figures.share("data"),
        "copy": figures.share("copy"),
        "communication": figures.share("communication"),
        "host": figures.share("other"),
    }
    worst = max(shares, key=lambda name: shares[name])
    compute = figures.share(*COMPUTE)
    if shares[worst] < NAMED and shares[worst] < compute:
        longest = max(COMPUTE, key=lambda part: figures.parts[part])
        return Cause("compute", compute, longest)
    if worst == "data":
        return cause_of_loading(facts, figures, inside, shares["data"])
    if worst == "host":
        return Cause("host", shares["host"], line_of(facts, "other"))
    return Cause(worst, shares[worst])


def cause_of_loading(
    facts: dict[str, Any], figures: Figures, inside: Loading | None, share: float
) -> Cause:
    if inside is None:
        stats = (facts["loader"] or {}).get("stats")
        if stats:
            return _cause_of_tundish(stats, share)
        return Cause("loader", share, line_of(facts, "data") or _next_line(facts))
    if more_workers(figures, inside):
        return Cause("workers", share, str(inside.workers))
    stage = inside.slowest()
    row = inside.top_row(stage)
    return Cause(stage, share, row["name"] if row else "")


def _cause_of_tundish(stats: dict[str, float], share: float) -> Cause:
    keys = {
        "storage": "data/read_busy",
        "decode": "data/decode_busy",
        "transform": "data/augment_busy",
    }
    worst = max(keys, key=lambda name: stats.get(keys[name], 0.0))
    return Cause(worst, share)


def more_workers(figures: Figures, inside: Loading) -> int:
    """The fewest workers that would make loading all but free; 0 if none on this machine do."""
    wanted = figures.ceiling_s * 1.15
    for workers in range(inside.workers + 1, inside.most_workers + 1):
        if inside.step_with(workers, figures.ceiling_s, 0.0, figures.ceiling_cpu_s) <= wanted:
            return workers
    return 0


def _next_line(facts: dict[str, Any]) -> str:
    """Where the loop takes its batches; empty where that is not known."""
    place = facts.get("next") or {"file": ""}
    return place_text({**place, "function": ""}) if place["file"] else ""
