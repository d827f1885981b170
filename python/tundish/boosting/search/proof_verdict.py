"""Judges whether a changed script still trains as before, from losses and gradients of equal steps.

Runs of the unchanged script that differ only by rounding drift apart. Three times their largest
difference is the limit for changes that only reorder sums. Changes of precision get the band of
`tundish tune`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ...diagnosis.probe.proof.proof_facts import GradientFacts, RunFacts
from ...tuning.numerics.band import TIMES, check_band, difference, scale_of_losses, window_of

# Compiled kernels sum in another order than torch's: a correct compiled ResNet drifted by 4e-5 of the
# loss while nudged runs drifted by 2e-7. A wrong scale or a stale batch moves the loss by 1e-2 or more.
LEAST_LIMIT = 1e-3
WIDEST = 0.20  # a wider band means nothing, as with random labels
# Limits for all gradients together, if a change only reorders sums; 1 - cosine was below 1e-10.
LEAST_COSINE, NORM_TOLERANCE = 1 - 1e-5, 1e-3
LEAST_COSINE_16, NORM_TOLERANCE_16 = 0.98, 0.05  # for 16-bit precision; bf16 had 0.9995 and 0.002
MOST_SERIES = 4  # losses per step that are compared one by one; more are added up


@dataclass(frozen=True)
class ProofVerdict:
    """`judged`: the band was narrow enough to mean something. `limit`, `difference`: of the loss."""

    passed: bool
    judged: bool
    sentence: str
    difference: float = 0.0
    limit: float = 0.0
    losses: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def judge_run(
    baseline: list[RunFacts], changed: RunFacts | None, lower_precision: bool, random: bool = False
) -> ProofVerdict:
    """`random`: the change draws other random numbers, as compiled dropout does."""
    if changed is None or not baseline:
        return ProofVerdict(False, False, "not judged: no losses were recorded")
    text = _gradient_fault(changed.gradients, baseline, lower_precision, random)
    if text:
        return ProofVerdict(False, True, text, losses=_mean_losses(changed))
    kinds = ("plain", "nudged", "random") if random else ("plain", "nudged")
    equals = [run for run in baseline[1:] if run.kind in kinds]
    verdicts = [
        _judge_series(series, others, mine, lower_precision)
        for series, others, mine in _series(baseline[0], equals, changed)
    ]
    if not verdicts:
        return ProofVerdict(False, False, "not judged: the steps have different losses")
    worst = min(verdicts, key=lambda v: (v.passed, v.judged, v.limit - v.difference))
    return ProofVerdict(
        worst.passed,
        worst.judged,
        worst.sentence,
        worst.difference,
        worst.limit,
        _mean_losses(changed),
    )


def _judge_series(
    baseline: list[float], equals: list[list[float]], mine: list[float], lower_precision: bool
) -> ProofVerdict:
    if lower_precision:
        band = check_band(baseline, equals, mine)
        passed, limit, found, text = band.passed, band.limit, band.difference, band.sentence
    else:
        window = window_of(min(len(baseline), len(mine)))
        size = scale_of_losses(baseline, window)
        spread = max((difference(run, baseline, window, size) for run in equals), default=0.0)
        limit, found = (
            max(LEAST_LIMIT, TIMES * spread),
            difference(mine, baseline, window, size),
        )
        passed = found <= limit
        text = f"the loss is {found:.2g} off; equal runs may differ by {limit:.2g}"
    if passed and limit > WIDEST:
        text = f"not judged: equal runs of your script differ by up to {limit:.0%} of the loss"
        return ProofVerdict(True, False, text, found, limit)
    return ProofVerdict(passed, True, text, found, limit)


def _gradient_fault(
    gradients: GradientFacts | None, baseline: list[RunFacts], lower_precision: bool, random: bool
) -> str:
    """Returns what is wrong with the gradients and updates of the first step, "" if nothing is."""
    if gradients is None:
        return ""
    if gradients.missing:
        return f"{gradients.missing} parameters have a gradient in only one of the two scripts"
    equals = [run.gradients for run in baseline[1:] if random or run.kind != "random"]
    for what in ("gradient", "update"):
        least, tolerance = LEAST_COSINE, NORM_TOLERANCE
        if lower_precision:
            least, tolerance = LEAST_COSINE_16, NORM_TOLERANCE_16
        # Adam scales gradients that are only rounding, as of a bias before a BatchNorm, to full updates.
        for equal in equals:
            if equal is not None:
                cosine, ratio = _alignment(equal, what)
                least = min(least, 1 - TIMES * (1 - cosine))
                tolerance = max(tolerance, TIMES * abs(ratio - 1))
        cosine, ratio = _alignment(gradients, what)
        if abs(ratio - 1) > tolerance:
            return f"the first {what} is {ratio:.4g} times as long"
        if cosine < least:
            return f"the first {what} has another direction: cosine {cosine:.4f}"
    return ""


def _alignment(gradients: GradientFacts, what: str) -> tuple[float, float]:
    """Returns cosine and ratio of norms of the gradients or the updates."""
    if what == "gradient":
        return gradients.cosine, gradients.norm_ratio
    return gradients.update_cosine, gradients.update_norm_ratio


def _series(
    baseline: RunFacts, equals: list[RunFacts], changed: RunFacts
) -> list[tuple[list[float], list[list[float]], list[float]]]:
    """Returns the loss curves to compare: one per loss of a step, or the sums of each step."""
    runs = [baseline, *equals, changed]
    counts = {len(step) for run in runs for step in run.losses}
    if len(counts) == 1 and 1 <= (count := counts.pop()) <= MOST_SERIES:
        curves = [[[step[at] for step in run.losses] for run in runs] for at in range(count)]
    elif min((len(step) for run in runs for step in run.losses), default=0):
        curves = [[[sum(step) for step in run.losses] for run in runs]]
    else:
        return []
    return [(one[0], one[1:-1], one[-1]) for one in curves]


def _mean_losses(run: RunFacts) -> list[float]:
    return [sum(step) / len(step) for step in run.losses if step]
