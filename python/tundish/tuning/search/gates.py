"""Decides whether a variant computes correctly: checks each trick, then the losses of all combined."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..job import JobSource
from ..report.results import NOT_JUDGED
from ..tricks import Grade, Trick

if TYPE_CHECKING:
    from ..trials.pool import TrialPool

_CHECK = "tundish.tuning.numerics.gate:check_tricks"
_CHECK_EACH = "tundish.tuning.numerics.gate:check_each"
# These tricks are checked in one process, because the checks are quick and share the plain step's
# reference. A failed graph capture can corrupt its process, so cuda_graph comes last.
_TOGETHER = ("fused_optimizer", "foreach_optimizer", "channels_last", "cuda_graph")


@dataclass(frozen=True)
class GateVerdict:
    broken: bool
    text: str
    grade: str
    late: bool = False  # broken only because there was no time for the check
    judged: bool = True  # False: the loss band is too wide, and only single steps were compared


@dataclass
class Gates:
    """Checks tricks in child processes, in fp32, before they are combined with a lower precision."""

    source: JobSource
    seed: int
    need_bytes: int = 0
    limit: float = math.inf  # a time.monotonic() value; checks that end later count as failed
    deterministic: bool = True  # whether the plain step was deterministic in every check
    found: dict[str, GateVerdict] = field(default_factory=dict)
    _shared: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # name of the call, and position in its result

    def start(self, pool: TrialPool, tricks: Iterable[Trick]) -> None:
        """Starts the check of each trick that does not lower the precision."""
        checked = [
            trick
            for trick in tricks
            if trick.grade is not Grade.STATISTICAL and gate_name(trick) not in self._shared
        ]
        together = sorted(
            (trick for trick in checked if trick.name in _TOGETHER),
            key=lambda trick: _TOGETHER.index(trick.name),
        )
        if len(together) < 2:
            together = []
        for trick in checked:
            if trick not in together:
                self._call(pool, gate_name(trick), _CHECK, [trick])
        if together:
            name = "gate " + ", ".join(trick.name for trick in together)
            self._call(pool, name, _CHECK_EACH, together)
            self._shared |= {gate_name(trick): (name, i) for i, trick in enumerate(together)}

    def _call(self, pool: TrialPool, name: str, function: str, tricks: list[Trick]) -> None:
        pool.start_call(
            name,
            function,
            need_bytes=self.need_bytes,
            source=self.source,
            tricks=[trick.as_json() for trick in tricks],
            seed=self.seed,
        )

    def _result(self, pool: TrialPool, trick: Trick) -> Any:
        """Returns the result of a check.

        If a shared process failed, checks the trick alone. Raises TrialFailed if that fails too.
        """
        from ..trials.trial import TrialFailed

        key = gate_name(trick)
        if key in self._shared:
            name, place = self._shared[key]
            try:
                return self._wait(pool, name)[place]
            except TrialFailed as error:
                if error.kind == "late":
                    raise
        self._call(pool, key, _CHECK, [trick])
        return self._wait(pool, key)

    def _wait(self, pool: TrialPool, name: str) -> Any:
        from ..trials.trial import TrialFailed

        if not pool.is_ready_by(name, self.limit):
            raise TrialFailed("no time left; --minutes gives more", "late")
        return pool.result(name)

    def judge(self, pool: TrialPool, variant: tuple[Trick, ...], name: str) -> GateVerdict:
        """Returns the verdict on a variant. Compares the first losses of the trial `name`."""
        grades = [trick.grade for trick in variant]
        grade = weakest(grades).value
        texts = []
        for trick in variant:
            if trick.grade is Grade.STATISTICAL:
                continue
            verdict = self._of_trick(pool, trick)
            if verdict.broken:
                return verdict
            texts.append(verdict.text)
        band = self._of_losses(pool, variant, name)
        if band.judged and (band.broken or grade == Grade.STATISTICAL.value):
            return GateVerdict(band.broken, band.text, grade)
        if grade == Grade.STATISTICAL.value:
            return self._of_one_step(pool, variant, band)
        text = texts[-1] if texts else ""
        if not band.judged:  # the comparison of single tensors has judged these tricks
            text = f"{text}; the loss was not judged: {band.text}"
        return GateVerdict(False, text or band.text, grade)

    def _of_one_step(
        self, pool: TrialPool, variant: tuple[Trick, ...], band: GateVerdict
    ) -> GateVerdict:
        """Returns the verdict if the band is too wide: one step with each trick must agree with fp32."""
        lower = [trick for trick in variant if trick.grade is Grade.STATISTICAL]
        verdicts = [self._of_trick(pool, trick) for trick in lower]
        head = f"{NOT_JUDGED}: {band.text}"
        for trick, verdict in zip(lower, verdicts):
            if verdict.broken:
                text = f"{head}; {trick.title} fails the fp32 gate: {verdict.text}"
                return GateVerdict(True, text, verdict.grade, verdict.late, judged=False)
        text = f"{head}; one step passed the fp32 gate: {verdicts[-1].text}"
        return GateVerdict(False, text, Grade.STATISTICAL.value, judged=False)

    def _of_trick(self, pool: TrialPool, trick: Trick) -> GateVerdict:
        key = gate_name(trick)
        if key not in self.found:
            from ..trials.trial import TrialFailed

            try:
                result = self._result(pool, trick)
                self.found[key] = GateVerdict(not result.passed, result.sentence, trick.grade.value)
                self.deterministic &= getattr(result, "deterministic", True)
            except TrialFailed as error:
                text = f"{trick.title} could not be checked: {error}"
                late = error.kind == "late"
                self.found[key] = GateVerdict(True, text, trick.grade.value, late)
        return self.found[key]

    def _of_losses(self, pool: TrialPool, variant: tuple[Trick, ...], name: str) -> GateVerdict:
        from ..numerics.band import check_band

        outcome = pool.outcome(name)
        if outcome.failed:
            return GateVerdict(True, outcome.failed, "")
        if any(trick.name == "compile" for trick in variant) and outcome.graphs == 0:
            return GateVerdict(True, "torch.compile compiled nothing: the step ran eagerly", "")
        equals = [pool.outcome(other) for other in ("twin", "nudge 1", "nudge 2")]
        result = check_band(
            pool.outcome("baseline").losses,
            [equal.losses for equal in equals if not equal.failed],
            outcome.losses,
        )
        text = result.sentence
        scales = outcome.details.get("scales")
        if scales:
            from ..numerics.overflow import overflow_of

            overflow = overflow_of(scales)
            if not overflow.settled:
                return GateVerdict(True, overflow.sentence, Grade.STATISTICAL.value)
            text += f"; {overflow.sentence}" if overflow.skipped else ""
        statistical = Grade.STATISTICAL.value
        return GateVerdict(result.broken, text, statistical, judged=result.judged)


def gate_name(trick: Trick) -> str:
    return f"gate {trick.as_json()}"


def weakest(grades: list[Grade]) -> Grade:
    order = [Grade.BITWISE, Grade.REASSOCIATION, Grade.STATISTICAL]
    return max(grades, key=order.index, default=Grade.BITWISE)
