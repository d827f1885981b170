"""The statistical grade: does a run in lower precision learn as equal fp32 runs do?

Equal fp32 runs drift apart, since training multiplies rounding errors. Their spread is measured on the
user's own model; a candidate may drift a few times as far. This sees a wrong scale of the loss or a
precision that does not suffice. It does not see a single sum in low precision: for that every trick is
gated in fp32 first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FIRST, LAST = 10, 30  # steps 11 to 30: before, the runs have hardly drifted apart
TIMES = 3.0  # the fp32 spread; correct tricks stayed below 1.2, a wrong scale was above 12
# Models that hardly multiply errors: the spread of fp32 is 1e-6 there, and a correct bf16 run, whose
# numbers have 8 bits, drifts by 1e-3 to 1e-2.
LEAST_LIMIT = 0.02
# A run may be this many steps ahead or behind. While a loss falls by 10 % a step, as when a batch is
# memorised, equal runs in 16 bits are 3 % apart: a third of a step. A wrong scale loses many steps.
STEPS_APART = 1.0
# A loss below this part of the first one is a memorised batch: what is left of it is noise.
MEMORISED = 0.02
SMALLEST_NORM, LARGEST_NORM = 0.8, 1.25
FEWEST_RUNS = 3


@dataclass
class BandResult:
    passed: bool
    sentence: str
    difference: float = 0.0  # mean over the window, relative to the baseline's loss there
    limit: float = 0.0
    spread: float = 0.0  # the same difference among fp32 runs, the largest
    step: int = 0  # where it leaves the band, counted from 1; 0 if it stays inside
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_band(
    baseline: Sequence[float],
    equals: Sequence[Sequence[float]],
    candidate: Sequence[float],
    gradient_norm_ratio: float | None = None,
) -> BandResult:
    """`equals` are the losses of runs that are equal to the baseline but for rounding: an identical
    twin and nudged runs. All curves begin with step 1 and have the same batches."""
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
            False, f"the norm of the gradients is {gradient_norm_ratio:.2f} x that of fp32"
        )
    usable = [run for run in equals if not first_not_finite(run)]
    if len(usable) < FEWEST_RUNS:
        notes.append(f"only {len(usable)} fp32 runs to compare with: the band may be too narrow")
    window = window_of(min(len(baseline), len(candidate)))
    size = scale_of_losses(baseline, window)
    spread = max((difference(run, baseline, window, size) for run in usable), default=0.0)
    limit = max(LEAST_LIMIT, TIMES * spread, STEPS_APART * fall_per_step(baseline, window) / size)
    found = difference(candidate, baseline, window, size)
    if found <= limit:
        text = f"the loss stays within {found:.1%} of fp32 (band {limit:.1%})"
        return BandResult(True, text, found, limit, spread, notes=notes)
    left = leaves_at(candidate, baseline, usable, window, size)
    text = f"the loss leaves the fp32 band at step {left}: {found:.1%} off, the band is {limit:.1%}"
    return BandResult(False, text, found, limit, spread, left, notes)


def window_of(steps: int) -> range:
    """The steps that are compared, from 0; shorter runs give their later part."""
    last = min(steps, LAST)
    return range(min(FIRST, last // 3), last)


def scale_of_losses(baseline: Sequence[float], window: range) -> float:
    """What differences are relative to. One number for all steps: a loss close to 0 at one of them, or
    at all of them once the batch is memorised, makes no difference infinite."""
    mean = sum(abs(baseline[i]) for i in window) / max(1, len(window))
    first = sum(abs(loss) for loss in baseline[:3]) / max(1, len(baseline[:3]))
    return max(mean, MEMORISED * first, 1e-30)


def difference(
    run: Sequence[float], baseline: Sequence[float], window: range, size: float
) -> float:
    steps = [i for i in window if i < len(run)]
    return sum(abs(run[i] - baseline[i]) for i in steps) / max(1, len(steps)) / size


def fall_per_step(baseline: Sequence[float], window: range) -> float:
    """How much the loss changes from one step to the next: up and down cancel, so noise does not count."""
    first, last = window.start, window.stop - 1
    return abs(baseline[first] - baseline[last]) / max(1, last - first)


def leaves_at(
    candidate: Sequence[float],
    baseline: Sequence[float],
    equals: Sequence[Sequence[float]],
    window: range,
    size: float,
) -> int:
    """The first step, from 1, at which it is off by more than the limit times what fp32 runs are at
    that step; the step that is off most if there is none."""
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
    """The number of that step, from 1; 0 if there is none."""
    return next((i + 1 for i, loss in enumerate(losses) if not math.isfinite(loss)), 0)
