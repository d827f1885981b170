"""What the GPU's own record says of a step that neither data nor copies bound: does the GPU wait for the host?

With a host that waits for the GPU in every step (`.item()`), or that launches kernels slower than they run, the GPU is idle
between kernels. Without either, the GPU is busy and the model is the bound.
"""

from __future__ import annotations

from typing import Any

from .cause import Cause
from .changes import Change
from .figures import Figures
from .line_costs import line_of

IDLE = 0.25  # of the step, beyond waiting for data: the host is the bound
EXPLAINED = 0.5  # of the idle time: would go if the host did not wait
SHORT_KERNEL_S = 20e-6  # a launch takes the host about 5 to 10 us
GRAPH_GAP_S = 1e-6  # between two kernels of a CUDA graph that follow each other


def cause_on_gpu(facts: dict[str, Any], figures: Figures, found: Cause) -> Cause:
    """A more exact cause than `found`, where the GPU's record shows one."""
    seen = facts.get("gpu_profile")
    if not seen:
        return found
    if found.name == "copy" and seen["pageable_copy_s"] > seen["pinned_copy_s"]:
        return Cause("copy", found.share, "from pageable memory")
    idle = idle_share(facts, figures)
    if found.name not in ("compute", "host") or idle < IDLE:
        return found
    if seen["waits"] >= 1 and saved_share(seen) >= EXPLAINED * idle:
        return Cause("sync", idle, line_of(facts, "other") or line_of(facts, "torch"))
    if found.name == "compute" or (seen["kernels"] and seen["kernel_s"] < SHORT_KERNEL_S):
        count, mean = seen["kernels"], seen["kernel_s"] * 1e6
        return Cause("launch", idle, f"{count:.0f} kernels of {mean:.0f} us")
    return found


def idle_share(facts: dict[str, Any], figures: Figures) -> float:
    """Of the profiled step: neither busy nor waiting for data."""
    seen = facts["gpu_profile"]
    whole = seen["wall_s"]
    return max(0.0, 1 - seen["busy_s"] / whole - figures.share("data")) if whole else 0.0


def saved_share(seen: dict[str, Any]) -> float:
    """Of the profiled step, if the host did not wait: then the longer one of GPU and host bounds it."""
    return float(1 - max(seen["busy_s"], seen["wall_s"] - seen["wait_s"]) / seen["wall_s"])


def changes_on_gpu(facts: dict[str, Any], figures: Figures, cause: Cause) -> list[Change]:
    """The step cannot become shorter than the GPU is busy."""
    if cause.name not in ("sync", "launch"):
        return []
    seen = facts["gpu_profile"]
    if cause.name == "sync":
        predicted = figures.step_s * (1 - saved_share(seen))
        how = cause.detail or "tundish check train.py names the lines"
        what = "no wait for the GPU in the loop: keep the tensor, read it every 50 steps"
        return [Change(what, how, predicted, at_best=True)]
    gaps = seen["kernels"] * GRAPH_GAP_S / seen["wall_s"]
    predicted = figures.step_s * min(1.0, 1 - cause.share + gaps)
    how = f"tundish tune {facts.get('script') or 'train.py'}:build"
    return [
        Change("fewer, longer kernels: torch.compile, a CUDA graph", how, predicted, at_best=True)
    ]
