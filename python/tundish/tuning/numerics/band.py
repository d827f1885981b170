"""The check for tricks in lower precision: compares the loss curve with the curves of fp32 runs.

Even fp32 runs of the same job drift apart, because training amplifies rounding errors. This module takes
the spread of such runs, measured on the user's model. A run in lower precision may drift a few times as
far. The check finds a wrong loss scale and a precision that is too low. It cannot find a single sum in low
precision, so the other tricks are checked in fp32 first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FIRST, LAST = 10, 30  # compares steps 11 to 30, because runs have hardly drifted apart before
TIMES = 3.0  # limit relative to the fp32 spread; correct tricks stayed below 1.2, a wrong scale was above 12
# Lower bound of the limit, for models that hardly amplify errors: their fp32 spread is 1e-6, although a
# correct bf16 run with an 8-bit mantissa drifts by 1e-3 to 1e-2.
LEAST_LIMIT = 0.02
# A run may be this many steps ahead or behind. If the loss falls by 10 % per step, for example because
# the model memorizes a batch, two correct 16-bit runs differ by 3 %, a third of a step. A run with a wrong
# loss scale falls many steps behind.
STEPS_APART = 1.0
# Below this fraction of the first loss, the batch is memorized and the rest of the loss is noise.
MEMORIZED = 0.02
SMALLEST_NORM, LARGEST_NORM = 0.8, 1.25
FEWEST_RUNS = 3
WIDEST_LIMIT = 0.2  # a wider band contains runs with a wrong scale too, so it judges nothing


@dataclass
class BandResult:
    passed: bool  # False also if the band is too wide to judge the run
    sentence: str
    difference: float = 0.0  # mean difference in the compared steps, relative to the fp32 loss
    limit: float = 0.0
    spread: float = 0.0  # largest difference between fp32 runs
    step: int = 0  # number (from 1) of the step that leaves the band; 0 if the curve stays inside
    notes: list[str] = field(default_factory=list)
    judged: bool = True  # False: the run stays inside a band that is too wide for a verdict

    @property
    def broken(self) -> bool:
        return self.judged and not self.passed

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_band(
    baseline: Sequence[float],
    equals: Sequence[Sequence[float]],
    candidate: Sequence[float],
    gradient_norm_ratio: float | None = None,
) -> BandResult:
    """Checks whether the loss curve of a run stays within the spread of fp32 runs.

    baseline             losses of the plain fp32 run
    equals               losses of other fp32 runs, which differ from the baseline only by rounding
    candidate            losses of the run to check
    gradient_norm_ratio  gradient norm relative to fp32; None if unknown

    All curves begin with step 1 and use the same batches.
    """
    notes: list[str] = []
    step = first_not_finite(candidate)
    if not all(math.isfinite(loss) for loss in baseline):
        return BandResult(False, "the loss of the fp32 run itself is not finite", notes=notes)
    if step:
        return BandResult(False, f"the loss of step {step} is not finite", step=step)
    if gradient_norm_ratio is not None and not (
        SMALLEST_NORM <= gradient_norm_ratio <= LARGEST_NORM
    ):
        return BandResult(
            False, f"the gradient norm is {gradient_norm_ratio:.2f} x the norm in fp32"
        )
    usable = [run for run in equals if not first_not_finite(run)]
    if len(usable) < FEWEST_RUNS:
        notes.append(f"only {len(usable)} fp32 runs to compare with: the band may be too narrow")
    window = window_of(min(len(baseline), len(candidate)))
    size = scale_of_losses(baseline, window)
    spread = max((difference(run, baseline, window, size) for run in usable), default=0.0)
    limit = max(
        LEAST_LIMIT, TIMES * spread, STEPS_APART * mean_loss_change(baseline, window) / size
    )
    found = difference(candidate, baseline, window, size)
    if found <= limit and limit > WIDEST_LIMIT:
        text = f"the loss band is {limit:.0%} wide, above {WIDEST_LIMIT:.0%}"
        return BandResult(False, text, found, limit, spread, notes=notes, judged=False)
    if found <= limit:
        text = f"the loss stays within {found:.1%} of fp32 (band {limit:.1%})"
        return BandResult(True, text, found, limit, spread, notes=notes)
    left = find_exit_step(candidate, baseline, usable, window, size)
    text = f"the loss leaves the fp32 band at step {left}: {found:.1%} off, the band is {limit:.1%}"
    return BandResult(False, text, found, limit, spread, left, notes)


def window_of(steps: int) -> range:
    """Returns the indices of the steps to compare. Short runs use their later part."""
    last = min(steps, LAST)
    return range(min(FIRST, last // 3), last)


def scale_of_losses(baseline: Sequence[float], window: range) -> float:
    """Returns the loss value by which differences are divided.

    One value is used for all steps. It has a lower bound, because the loss may come close to 0, for
    example once the model has memorized the batch.
    """
    mean = sum(abs(baseline[i]) for i in window) / max(1, len(window))
    first = sum(abs(loss) for loss in baseline[:3]) / max(1, len(baseline[:3]))
    return max(mean, MEMORIZED * first, 1e-30)


def difference(
    run: Sequence[float], baseline: Sequence[float], window: range, size: float
) -> float:
    steps = [i for i in window if i < len(run)]
    return sum(abs(run[i] - baseline[i]) for i in steps) / max(1, len(steps)) / size


def mean_loss_change(baseline: Sequence[float], window: range) -> float:
    """Returns the mean change of the loss per step, computed from the two ends of the window."""
    first, last = window.start, window.stop - 1
    return abs(baseline[first] - baseline[last]) / max(1, last - first)


def find_exit_step(
    candidate: Sequence[float],
    baseline: Sequence[float],
    equals: Sequence[Sequence[float]],
    window: range,
    size: float,
) -> int:
    """Returns the number (from 1) of the first step at which the candidate exceeds the limit.

    If no single step exceeds its limit, returns the step with the largest difference.
    """
    off = [abs(candidate[i] - baseline[i]) / size for i in range(window.stop)]
    for i, value in enumerate(off):
        spread = max(
            (abs(run[i] - baseline[i]) / size for run in equals if i < len(run)), default=0.0
        )
        falls = abs(baseline[max(i - 1, 0)] - baseline[min(i + 1, len(baseline) - 1)]) / 2
        if value > max(LEAST_LIMIT, TIMES * spread, STEPS_APART * falls / size):
            return i + 1
    return max(window, key=lambda i: off[i]) + 1


def first_not_finite(losses: Sequence[float]) -> int:
    """Returns the number (from 1) of the first step whose loss is not finite; 0 if all are finite."""
    return next((i + 1 for i, loss in enumerate(losses) if not math.isfinite(loss)), 0)
