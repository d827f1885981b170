"""Computes the figures of a run: the seconds of a typical step, by part, and its ceiling.

The ceiling is the step time without data loading. The time spent waiting for data is a mean, because
workers deliver batches in bursts. With four workers, for example, three steps may not wait at all, and
the fourth waits long. All other times are medians, so that a disturbed step does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median

from ..probe.facts import Facts, LineFacts, StepFacts

PARTS = (
    *("data", "copy", "forward", "backward", "communication", "optimizer", "zero_grad"),
    "other",
)
COMPUTE = ("forward", "backward", "optimizer", "zero_grad")
RARE_STEP = 5.0  # steps longer than this multiple of the median include a validation or similar
LEAST_STEPS = 5  # smallest number of steps for a reliable verdict
SETTLING_STEPS = 2  # number of first steps with cached batches to discard


@dataclass
class Figures:
    """The times of a typical step in seconds.

    `clock` is "gpu" if the times are GPU times, otherwise "host".
    """

    step_s: float
    parts: dict[str, float]
    ceiling_s: float
    # "cached": the ceiling was measured with cached batches; "computed": step minus waiting for data
    ceiling_from: str
    clock: str
    steps: int
    rare_steps: int
    cached_batches: int
    ceiling_cpu_s: float  # CPU time of training in a step at the ceiling, without polling for a GPU
    few: bool  # whether there are too few steps for a reliable verdict
    host_parts: dict[str, float] = field(default_factory=dict)
    batches: float = 1.0  # of the loader that feeds the training, per step
    other_data_s: float = 0.0  # the part of "data" that waits for other loaders

    @property
    def without_loader_s(self) -> float:
        """The step if batches of the loader that feeds the training were free."""
        return self.ceiling_s + self.other_data_s

    def share(self, *parts: str) -> float:
        return sum(self.parts[part] for part in parts) / self.step_s if self.step_s else 0.0


def figures(facts: Facts) -> Figures | None:
    """Returns the figures, or None without steps."""
    all_steps = facts.steps
    few = False
    used = [step for step in all_steps if step.phase == "measure" and not step.boundary]
    if len(used) < LEAST_STEPS:
        used = [step for step in all_steps[1:] if step.phase in ("warm-up", "measure")]
        used = [step for step in used if not step.boundary] or used
        few = True
    if not used:
        return None
    clock = "gpu" if all(step.gpu_seconds for step in used) else "host"
    rests = [_rest(step, clock) for step in used]
    usual = median(rests)
    most = max(RARE_STEP * usual, usual + mean(_total(step, clock) for step in used))
    kept = [step for step, rest in zip(used, rests) if rest <= most] or used
    parts = _parts(kept, clock)
    if clock == "host":
        _divide_other(parts, facts.lines)
    step_s = sum(parts.values())
    cached = [step for step in all_steps if step.phase == "cached" and not step.boundary]
    cached = cached[SETTLING_STEPS:]
    if len(cached) >= 3:
        ceiling, source = median(_rest(step, clock) for step in cached), "cached"
        cpu = median(step.cpu_s for step in cached)
    else:
        ceiling, source = step_s - parts["data"], "computed"
        cpu = min(ceiling, median(step.cpu_s for step in kept))
    host_parts = _parts(kept, "host")
    if clock == "gpu":
        cpu = min(cpu, _host_time_without_data(host_parts))
    return Figures(
        step_s=step_s,
        parts=parts,
        ceiling_s=min(ceiling, step_s),
        ceiling_from=source,
        ceiling_cpu_s=cpu,
        clock=clock,
        steps=len(kept),
        rare_steps=len(used) - len(kept),
        cached_batches=len(cached),
        few=few or len(kept) < LEAST_STEPS,
        host_parts=host_parts,
        batches=max(1.0, mean(step.fed for step in kept)),
        other_data_s=_other_data_s(kept, parts, host_parts),
    )


def _other_data_s(
    steps: list[StepFacts], parts: dict[str, float], host_parts: dict[str, float]
) -> float:
    """Returns the waiting for other loaders, on the clock of `parts`."""
    waited_s = host_parts["data"]
    share = mean(step.other_data_s for step in steps) / waited_s if waited_s else 0.0
    return parts["data"] * min(1.0, share)


def _host_time_without_data(host_parts: dict[str, float]) -> float:
    """Returns the host time minus the wait for data: an upper bound of the CPU time that training needs.

    With cached batches, the host is ahead of the GPU and polls for it, which uses CPU time that a
    loader could use. In a step that waits for data, the GPU is idle, and the host does not poll.
    """
    return sum(s for part, s in host_parts.items() if part != "data")


def _seconds(step: StepFacts, clock: str) -> dict[str, float]:
    return step.gpu_seconds if clock == "gpu" else step.seconds


def _rest(step: StepFacts, clock: str) -> float:
    """Returns the step time, excluding the wait for data and the doctor's own work."""
    return sum(s for part, s in _seconds(step, clock).items() if part not in ("data", "own"))


def _total(step: StepFacts, clock: str) -> float:
    return _rest(step, clock) + _seconds(step, clock).get("data", 0.0)


def _parts(steps: list[StepFacts], clock: str) -> dict[str, float]:
    means = {part: mean(_seconds(step, clock).get(part, 0.0) for step in steps) for part in PARTS}
    rest = sum(s for part, s in means.items() if part != "data")
    usual = median(_rest(step, clock) for step in steps)
    scale = usual / rest if rest else 1.0
    return {part: s if part == "data" else s * scale for part, s in means.items()}


def _divide_other(parts: dict[str, float], lines: list[LineFacts]) -> None:
    """Divides the part "other" among other parts, according to the sampled lines.

    Time in the `for` line of a loop with an unknown loader is time spent waiting for data. torch
    functions called outside modules, such as losses, belong to the forward pass.
    """
    shares = dict.fromkeys(("data", "torch", "other"), 0.0)
    for line in lines:
        if line.part in shares and line.in_other:
            shares[line.part] += line.share
    whole, other = sum(shares.values()), parts["other"]
    if whole > 0:
        parts["data"] += other * shares["data"] / whole
        parts["forward"] += other * shares["torch"] / whole
        parts["other"] = other * shares["other"] / whole
