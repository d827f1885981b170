"""Determines the cause of a slow step: the part that limits its speed.

Rules on the measured times choose the part, and the GPU profile refines it. The GPU is idle between
kernels if the host waits for it in every step (`.item()`), or launches kernels more slowly than they
run. Otherwise the GPU is busy, and the model limits the speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..probe.facts import Facts, GpuFacts
from .figures import COMPUTE, Figures
from .line_costs import location_text, longest_line
from .loading import Loading

# Avoidable time above this fraction of the step is the cause, even if the model takes more time.
NAMED = 0.25
IDLE = 0.25  # if the GPU is idle (not waiting for data) for more than this share, the host is the cause
EXPLAINED = 0.5  # waits are the cause only if this share of the idle time would vanish without them
SHORT_KERNEL_S = 20e-6  # a launch takes the host about 5 to 10 us
CAUSES = {
    "storage": "reading the samples",
    "decode": "decoding the samples",
    "transform": "transforming the samples",
    "dataset": "the dataset's own code",
    "collate": "collating samples into batches",
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
    share: float  # fraction of the step
    detail: str = ""  # function or line responsible


def find_cause(facts: Facts, figures: Figures, inside: Loading | None) -> Cause:
    """Returns what limits the speed of the step."""
    return _cause_on_gpu(facts, figures, _longest_part(facts, figures, inside))


def _longest_part(facts: Facts, figures: Figures, inside: Loading | None) -> Cause:
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
        return loading_cause(facts, figures, inside, shares["data"])
    if worst == "host":
        return Cause("host", shares["host"], longest_line(facts, "other"))
    return Cause(worst, shares[worst])


def _cause_on_gpu(facts: Facts, figures: Figures, found: Cause) -> Cause:
    """Returns a more specific cause than `found` if the GPU profile shows one."""
    seen = facts.gpu_profile
    if seen is None:
        return found
    if found.name == "copy" and seen.pageable_copy_s > seen.pinned_copy_s:
        return Cause("copy", found.share, "from pageable memory")
    idle = _idle_share(seen, figures)
    if found.name not in ("compute", "host") or idle < IDLE:
        return found
    if seen.waits >= 1 and saved_share(seen) >= EXPLAINED * idle:
        return Cause("sync", idle, longest_line(facts, "other") or longest_line(facts, "torch"))
    if found.name == "compute" or (seen.kernels and seen.kernel_s < SHORT_KERNEL_S):
        count, mean = seen.kernels, seen.kernel_s * 1e6
        return Cause("launch", idle, f"{count:.0f} kernels of {mean:.0f} us")
    return found


def _idle_share(seen: GpuFacts, figures: Figures) -> float:
    """Returns the fraction of the profiled step in which the GPU neither works nor waits for data."""
    whole = seen.wall_s
    return max(0.0, 1 - seen.busy_s / whole - figures.share("data")) if whole else 0.0


def saved_share(seen: GpuFacts) -> float:
    """Returns the fraction of the step that would be saved if the host did not wait for the GPU.

    The step would then take as long as the slower of GPU and host.
    """
    return 1 - max(seen.busy_s, seen.wall_s - seen.wait_s) / seen.wall_s


def loading_cause(facts: Facts, figures: Figures, inside: Loading | None, share: float) -> Cause:
    if inside is None:
        stats = facts.loader.stats if facts.loader else None
        if stats:
            return _tundish_cause(stats, share)
        return Cause("loader", share, longest_line(facts, "data") or _next_line(facts))
    if sufficient_workers(figures, inside):
        return Cause("workers", share, str(inside.workers))
    stage = inside.slowest()
    row = inside.top_row(stage)
    return Cause(stage, share, row.name if row else "")


def _tundish_cause(stats: dict[str, float], share: float) -> Cause:
    keys = {
        "storage": "data/read_busy",
        "decode": "data/decode_busy",
        "transform": "data/augment_busy",
    }
    worst = max(keys, key=lambda name: stats.get(keys[name], 0.0))
    return Cause(worst, share)


def sufficient_workers(figures: Figures, inside: Loading) -> int:
    """Returns the fewest workers that make loading almost free; 0 if none on this machine do."""
    least_s = figures.without_loader_s
    wanted = least_s * 1.15
    for workers in range(inside.workers + 1, inside.most_workers + 1):
        if inside.step_with(workers, least_s, 0.0, figures.ceiling_cpu_s) <= wanted:
            return workers
    return 0


def _next_line(facts: Facts) -> str:
    """Returns the line where the loop fetches its batches, or "" if unknown."""
    return location_text(facts.next.file, facts.next.line) if facts.next.file else ""
