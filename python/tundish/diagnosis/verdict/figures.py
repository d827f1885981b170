"""Computes the seconds of one step, by part, and its ceiling, from the recorded steps.

Waiting for data is a mean, because workers deliver in bursts: with four workers, three steps may
not wait and the fourth waits long. Everything else is a median, so a disturbed step does not count.
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
RARE_STEP = 5.0  # multiple of the median; longer steps contain a validation or a checkpoint
LEAST_STEPS = 5  # fewest steps for a verdict
SETTLING_STEPS = 2  # first steps with cached batches, which are discarded


@dataclass
class Figures:
    """Seconds of one step. `clock`: "gpu" if GPU times are known, otherwise "host"."""

    step_s: float
    parts: dict[str, float]
    ceiling_s: float
    ceiling_from: str  # "cached": measured with cached batches; "computed": step minus waiting
    clock: str
    steps: int
    rare_steps: int
    cached_batches: int
    ceiling_cpu_s: float  # CPU time of training in a step at the ceiling, without polling for a GPU
    few: bool  # too few steps for a reliable verdict
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
    """Returns the host time without waiting for data, as an upper bound of the CPU time needed.

    A host that is ahead of its GPU polls for it, as with cached batches. A loader could use this
    CPU time. In a step that waits for data, the GPU is idle, and the host does not poll.
    """
    return sum(s for part, s in host_parts.items() if part != "data")


def _seconds(step: StepFacts, clock: str) -> dict[str, float]:
    return step.gpu_seconds if clock == "gpu" else step.seconds


def _rest(step: StepFacts, clock: str) -> float:
    """Returns the step without waiting for data and without the doctor's work."""
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
    """Divides "other" by the sampled lines.

    The `for` of a loop with an unknown loader is waiting for data. torch functions called outside
    modules, such as losses, belong to the forward pass.
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
