"""Whether a variant's numbers may be trusted: each trick's own check, then the loss of the whole stack."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..job import JobSource
from ..tricks import Grade, Trick

if TYPE_CHECKING:
    from ..trials.pool import Stage

_CHECK = "tundish.tuning.numerics.gate:check_tricks"
_CHECK_EACH = "tundish.tuning.numerics.gate:check_each"
# Checked in one process: they are quick, and the plain step's reference is made once. A capture that
# fails can spoil its process, so it comes last.
_TOGETHER = ("fused_optimizer", "foreach_optimizer", "channels_last", "cuda_graph")


@dataclass(frozen=True)
class Verdict:
    broken: bool
    text: str
    grade: str


@dataclass
class Gates:
    """Checks run in processes of their own, in fp32, before a trick is stacked on a lower precision."""

    source: JobSource
    seed: int
    need_bytes: int = 0
    limit: float = math.inf  # of time.monotonic(): what is not checked by then is not trusted
    deterministic: bool = True  # the plain step gave the same bits twice, in every check
    found: dict[str, Verdict] = field(default_factory=dict)
    _shared: dict[str, tuple[str, int]] = field(default_factory=dict)  # call, place in its answer

    def start(self, stage: Stage, tricks: Iterable[Trick]) -> None:
        """Starts the check of each trick that only changes the order of sums, or nothing at all."""
        checked = [
            one
            for one in tricks
            if one.grade is not Grade.STATISTICAL and gate_name(one) not in self._shared
        ]
        together = sorted(
            (one for one in checked if one.name in _TOGETHER),
            key=lambda one: _TOGETHER.index(one.name),
        )
        if len(together) < 2:
            together = []
        for trick in checked:
            if trick not in together:
                self._call(stage, gate_name(trick), _CHECK, [trick])
        if together:
            name = "gate " + ", ".join(trick.name for trick in together)
            self._call(stage, name, _CHECK_EACH, together)
            self._shared |= {gate_name(trick): (name, i) for i, trick in enumerate(together)}

    def _call(self, stage: Stage, name: str, function: str, tricks: list[Trick]) -> None:
        stage.start_call(
            name,
            function,
            need_bytes=self.need_bytes,
            source=self.source,
            tricks=[trick.as_json() for trick in tricks],
            seed=self.seed,
        )

    def _result(self, stage: Stage, trick: Trick) -> Any:
        """TrialFailed if the check's process failed; those of one process are then checked alone."""
        from ..trials.trial import TrialFailed

        key = gate_name(trick)
        if key in self._shared:
            name, place = self._shared[key]
            try:
                return self._wait(stage, name)[place]
            except TrialFailed as error:
                if error.kind == "late":
                    raise
        self._call(stage, key, _CHECK, [trick])
        return self._wait(stage, key)

    def _wait(self, stage: Stage, name: str) -> Any:
        from ..trials.trial import TrialFailed

        if not stage.is_ready_by(name, self.limit):
            raise TrialFailed("no time was left; --minutes gives more", "late")
        return stage.result(name)

    def judge(self, stage: Stage, variant: tuple[Trick, ...], name: str) -> Verdict:
        """`name` is the trial whose first losses are looked at."""
        grades = [trick.grade for trick in variant]
        grade = weakest(grades).value
        texts = []
        for trick in variant:
            if trick.grade is Grade.STATISTICAL:
                continue
            verdict = self._of_trick(stage, trick)
            if verdict.broken:
                return verdict
            texts.append(verdict.text)
        band = self._of_losses(stage, variant, name)
        if band.broken or grade == Grade.STATISTICAL.value:
            return Verdict(band.broken, band.text, grade)
        return Verdict(False, texts[-1] if texts else band.text, grade)

    def _of_trick(self, stage: Stage, trick: Trick) -> Verdict:
        key = gate_name(trick)
        if key not in self.found:
            from ..trials.trial import TrialFailed

            try:
                result = self._result(stage, trick)
                self.found[key] = Verdict(not result.passed, result.sentence, trick.grade.value)
                self.deterministic &= getattr(result, "deterministic", True)
            except TrialFailed as error:
                text = f"{trick.title} could not be checked: {error}"
                self.found[key] = Verdict(True, text, trick.grade.value)
        return self.found[key]

    def _of_losses(self, stage: Stage, variant: tuple[Trick, ...], name: str) -> Verdict:
        from ..numerics.band import check_band

        outcome = stage.outcome(name)
        if outcome.failed:
            return Verdict(True, outcome.failed, "")
        if any(trick.name == "compile" for trick in variant) and outcome.graphs == 0:
            return Verdict(True, "torch.compile made no graph: the step ran eagerly", "")
        equals = [stage.outcome(one) for one in ("twin", "nudge 1", "nudge 2")]
        result = check_band(
            stage.outcome("baseline").losses,
            [one.losses for one in equals if not one.failed],
            outcome.losses,
        )
        text = result.sentence
        scales = outcome.details.get("scales")
        if scales:
            from ..numerics.overflow import overflow_of

            overflow = overflow_of(scales)
            if not overflow.settled:
                return Verdict(True, overflow.sentence, Grade.STATISTICAL.value)
            text += f"; {overflow.sentence}" if overflow.skipped else ""
        return Verdict(not result.passed, text, Grade.STATISTICAL.value)


def gate_name(trick: Trick) -> str:
    return f"gate {trick.as_json()}"


def weakest(grades: list[Grade]) -> Grade:
    order = [Grade.BITWISE, Grade.REASSOCIATION, Grade.STATISTICAL]
    return max(grades, key=order.index, default=Grade.BITWISE)
