"""Refines the cause from the GPU's own profile: whether the GPU waits for the host.

If the host waits for the GPU in every step (`.item()`), or launches kernels slower than they run,
the GPU is idle between kernels. Otherwise the GPU is busy, and the model is the bound.
"""

from __future__ import annotations

from ..probe.facts import Facts, GpuFacts
from .cause import Cause
from .changes import Change
from .figures import Figures
from .line_costs import longest_line

IDLE = 0.25  # of the step, beyond waiting for data; above this, the host is the bound
EXPLAINED = 0.5  # of the idle time; least part that would vanish if the host did not wait
SHORT_KERNEL_S = 20e-6  # a launch takes the host about 5 to 10 us
GRAPH_GAP_S = 1e-6  # between consecutive kernels of a CUDA graph


def cause_on_gpu(facts: Facts, figures: Figures, found: Cause) -> Cause:
    """Returns a more specific cause than `found` if the GPU profile shows one."""
    seen = facts.gpu_profile
    if seen is None:
        return found
    if found.name == "copy" and seen.pageable_copy_s > seen.pinned_copy_s:
        return Cause("copy", found.share, "from pageable memory")
    idle = idle_share(seen, figures)
    if found.name not in ("compute", "host") or idle < IDLE:
        return found
    if seen.waits >= 1 and saved_share(seen) >= EXPLAINED * idle:
        return Cause("sync", idle, longest_line(facts, "other") or longest_line(facts, "torch"))
    if found.name == "compute" or (seen.kernels and seen.kernel_s < SHORT_KERNEL_S):
        count, mean = seen.kernels, seen.kernel_s * 1e6
        return Cause("launch", idle, f"{count:.0f} kernels of {mean:.0f} us")
    return found


def idle_share(seen: GpuFacts, figures: Figures) -> float:
    """Returns the fraction of the profiled step in which the GPU neither works nor waits for data."""
    whole = seen.wall_s
    return max(0.0, 1 - seen.busy_s / whole - figures.share("data")) if whole else 0.0


def saved_share(seen: GpuFacts) -> float:
    """Returns the fraction of the step that is saved if the host does not wait for the GPU.

    The longer one of GPU and host then bounds the step.
    """
    return 1 - max(seen.busy_s, seen.wall_s - seen.wait_s) / seen.wall_s


def changes_on_gpu(facts: Facts, figures: Figures, cause: Cause) -> list[Change]:
    """Proposes changes for an idle GPU. The step cannot become shorter than the GPU's busy time."""
    seen = facts.gpu_profile
    if seen is None or cause.name not in ("sync", "launch"):
        return []
    if cause.name == "sync":
        predicted = figures.step_s * (1 - saved_share(seen))
        how = cause.detail or "tundish check train.py shows the lines"
        what = "do not wait for the GPU in the loop: keep the tensor and read it every 50 steps"
        return [Change(what, how, predicted, at_best=True)]
    gaps = seen.kernels * GRAPH_GAP_S / seen.wall_s
    predicted = figures.step_s * min(1.0, 1 - cause.share + gaps)
    how = f"tundish tune {facts.script or 'train.py'}:build"
    return [
        Change(
            "use fewer, longer kernels: torch.compile, a CUDA graph", how, predicted, at_best=True
        )
    ]
