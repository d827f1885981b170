"""From the steps that a watch recorded to the seconds of one step, by part, and its ceiling.

The wait for data is a mean, because workers deliver in bursts: with four workers three steps may not
wait and the fourth waits long. Everything else is a median, so that a disturbed step does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

PARTS = (
    *("data", "copy", "forward", "backward", "communication", "optimizer", "zero_grad"),
    "other",
)
COMPUTE = ("forward", "backward", "optimizer", "zero_grad")
RARE = (
    5.0  # a step whose rest takes so many times the median has a validation or a checkpoint in it
)
LEAST_STEPS = 5  # that make a verdict
SETTLING = 2  # first steps of a replay


@dataclass
class Figures:
    """Seconds of one step. `clock`: "gpu" where the GPU's own time is known, otherwise "host"."""

    step_s: float
    parts: dict[str, float]
    ceiling_s: float
    ceiling_from: str  # "replay": measured with cached batches; "computed": step minus waiting
    clock: str
    steps: int
    rare_steps: int
    replayed: int
    ceiling_cpu_s: float  # CPU time of the training in such a step, without polling for a GPU
    few: bool  # too few steps for a verdict that can be relied on
    host_parts: dict[str, float] = field(default_factory=dict)

    def share(self, *parts: str) -> float:
        return sum(self.parts[part] for part in parts) / self.step_s if self.step_s else 0.0


def figures(facts: dict[str, Any]) -> Figures | None:
    """None if there is no step to judge."""
    all_steps = facts["steps"]
    few = False
    used = [one for one in all_steps if one["phase"] == "measure" and not one["boundary"]]
    if len(used) < LEAST_STEPS:
        used = [one for one in all_steps[1:] if one["phase"] in ("warm-up", "measure")]
        used = [one for one in used if not one["boundary"]] or used
        few = True
    if not used:
        return None
    clock = "gpu" if all(one["gpu_seconds"] for one in used) else "host"
    rests = [_rest(one, clock) for one in used]
    usual = median(rests)
    most = max(RARE * usual, usual + mean(_all(one, clock) for one in used))
    kept = [one for one, rest in zip(used, rests) if rest <= most] or used
    parts = _parts(kept, clock)
    if clock == "host":
        _divide_other(parts, facts["lines"])
    step_s = sum(parts.values())
    replays = [one for one in all_steps if one["phase"] == "replay" and not one["boundary"]]
    replays = replays[SETTLING:]
    if len(replays) >= 3:
        ceiling, source = median(_rest(one, clock) for one in replays), "replay"
        cpu = median(one["cpu_s"] for one in replays)
    else:
        ceiling, source = step_s - parts["data"], "computed"
        cpu = min(ceiling, median(one["cpu_s"] for one in kept))
    host_parts = _parts(kept, "host")
    if clock == "gpu":
        cpu = min(cpu, _without_waiting(host_parts))
    return Figures(
        step_s=step_s,
        parts=parts,
        ceiling_s=min(ceiling, step_s),
        ceiling_from=source,
        ceiling_cpu_s=cpu,
        clock=clock,
        steps=len(kept),
        rare_steps=len(used) - len(kept),
        replayed=len(replays),
        few=few or len(kept) < LEAST_STEPS,
        host_parts=host_parts,
    )


def _without_waiting(host_parts: dict[str, float]) -> float:
    """A host that is ahead of its GPU polls for it, as with cached batches; that CPU time is there for a loader
    that needs it. In a step that waits for data the GPU is idle, and the host does not poll."""
    return sum(s for part, s in host_parts.items() if part != "data")


def _seconds(step: dict[str, Any], clock: str) -> dict[str, float]:
    return step["gpu_seconds" if clock == "gpu" else "seconds"]  # type: ignore[no-any-return]


def _rest(step: dict[str, Any], clock: str) -> float:
    """All but waiting for data and what the doctor does itself."""
    return sum(s for part, s in _seconds(step, clock).items() if part not in ("data", "own"))


def _all(step: dict[str, Any], clock: str) -> float:
    return _rest(step, clock) + _seconds(step, clock).get("data", 0.0)


def _parts(steps: list[dict[str, Any]], clock: str) -> dict[str, float]:
    means = {part: mean(_seconds(one, clock).get(part, 0.0) for one in steps) for part in PARTS}
    rest = sum(s for part, s in means.items() if part != "data")
    usual = median(_rest(one, clock) for one in steps)
    scale = usual / rest if rest else 1.0
    return {part: s if part == "data" else s * scale for part, s in means.items()}


def _divide_other(parts: dict[str, float], lines: list[dict[str, Any]]) -> None:
    """What the sampled lines say of "other": the `for` of a loop whose loader is not known is waiting,
    functions of torch that are called outside modules, such as losses, belong to the forward pass."""
    shares = dict.fromkeys(("data", "torch", "other"), 0.0)
    for one in lines:
        if one["part"] in shares and one["in_other"]:
            shares[one["part"]] += one["share"]
    whole, other = sum(shares.values()), parts["other"]
    if whole > 0:
        parts["data"] += other * shares["data"] / whole
        parts["forward"] += other * shares["torch"] / whole
        parts["other"] = other * shares["other"] / whole
