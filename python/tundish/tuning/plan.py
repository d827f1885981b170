"""A plan: the tricks that paid on one model, with what was measured; applied to the user's own objects."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .._c.errors import ArgumentError
from .fingerprint import Fingerprint, differences
from .patch import patch_text
from .plan_file import FORMAT, BadField, check_object, check_report, check_value, part, read_plan
from .report.commands import load_text
from .report.results import Report, report_from_json
from .step import LossFunction, Step
from .tricks import TRICKS, Trick, in_order, trick_from_json


@dataclass
class Plan:
    """`step = plan.apply(model, optimizer, loss_fn)`; then `loss = step(batch)` for every batch."""

    tricks: list[Trick]
    fingerprint: Fingerprint  # of what was tuned: model, optimiser, batch, machine, torch
    report: Report
    _applied: list[tuple[Step, list[Trick]]] = field(default_factory=list, repr=False)

    def apply(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        loss_fn: LossFunction,
        clip_norm: float | None = None,
    ) -> Step:
        """A training step with the plan's tricks: `step(batch)` returns the loss.

        The model and the optimizer stay yours: save their state_dict() as before, and step a
        learning-rate scheduler after each batch as before. `clip_norm`: gradients are clipped to
        this norm, inside the step.
        """
        changed = [one for one in differences(self.fingerprint, model, optimizer) if one.fatal]
        if changed:
            raise ArgumentError(
                f"this plan is for another job: {changed[0].text}\n"
                "  fix: tune again: tundish tune FILE:FUNCTION"
            )
        step = Step(model, optimizer, loss_fn)
        step.clip_norm = clip_norm
        done: list[Trick] = []
        try:
            for trick in in_order(self.tricks):
                obstacle = trick.obstacle(step)
                if obstacle:
                    raise ArgumentError(f"the plan's {trick.title} cannot be used here: {obstacle}")
                trick.apply(step)
                done.append(trick)
        except BaseException:
            for trick in reversed(done):
                trick.undo(step)
            raise
        self._applied.append((step, done))
        return step

    def undo(self) -> None:
        """Takes back what apply() changed: flags of torch, the layout of weights, the optimiser's kernels."""
        while self._applied:
            step, done = self._applied.pop()
            step.reset()
            for trick in reversed(done):
                trick.undo(step)

    def changes(self, model: torch.nn.Module | None = None, optimizer: Any = None) -> list[str]:
        """What differs from where the plan was made: GPU, torch, and, if given, model and optimiser."""
        return [one.text for one in differences(self.fingerprint, model, optimizer)]

    def patch(self) -> str:
        """The plan as lines for a training loop of one's own; the CUDA graph needs apply()."""
        device = "cpu" if self.fingerprint.device == "cpu" else "cuda"
        return patch_text(self.tricks, self.fingerprint.optimizer, device)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As JSON, by a temporary file and a rename."""
        values = {
            "format": FORMAT,
            "tricks": [trick.as_json() for trick in in_order(self.tricks)],
            "fingerprint": self.fingerprint.as_json(),
            "report": self.report.as_json(),
        }
        name = os.fspath(path)
        temporary = f"{name}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(values, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
        folder = os.open(os.path.dirname(os.path.abspath(name)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load_plan(path: str | os.PathLike[str], own: Sequence[str] = ()) -> Plan:
    """The plan of a file that Plan.save() wrote. `plan.changes()` says what is different here.

    `own`: FILE:CLASS of your own tricks in it. A plan file cannot name code to run by itself.
    """
    name = os.fspath(path)
    own = [own] if isinstance(own, str) else own
    try:
        values = read_plan(name)
        tricks = part(values, "tricks")
        check_value(list[dict[str, Any]], tricks, "tricks")
        check_object(Fingerprint, part(values, "fingerprint"), "fingerprint")
        check_report(part(values, "report"))
        made = [trick_of(one, f"tricks[{i}]", own, name) for i, one in enumerate(tricks)]
        check_once(made)
        return Plan(
            made,
            Fingerprint.from_json(values["fingerprint"]),
            report_from_json(values["report"]),
        )
    except BadField as error:
        raise ArgumentError(
            f"{name} is not a plan: {error}\n  fix: make it again: tundish tune FILE:FUNCTION -o {name}"
        ) from None


def trick_of(values: dict[str, Any], where: str, own: Sequence[str], name: str) -> Trick:
    """The trick of a plan file, its options checked."""
    check_value(str, part(values, "name", where), f"{where}.name")
    if "own" in values:
        check_value(str, values["own"], f"{where}.own")
    kind = next((kind for kind in TRICKS if kind.name == values["name"]), None)
    if kind is not None and "own" not in values:
        options = {field: value for field, value in values.items() if field != "name"}
        check_object(kind, options, where)
    try:
        return trick_from_json(with_own(values, own, name))
    except ArgumentError:
        raise
    except Exception as error:  # of a user's own trick: anything
        raise BadField(f"{where}: {error}") from error


def check_once(tricks: list[Trick]) -> None:
    """A trick that is applied twice could be undone once."""
    for i, trick in enumerate(tricks):
        if any(type(trick) is type(other) for other in tricks[:i]):
            raise BadField(f"tricks[{i}] is {trick.name}, which the plan has already")


def with_own(values: dict[str, Any], own: Sequence[str], name: str) -> dict[str, Any]:
    """A user's own trick, from the file that the caller names: never from the one in the plan."""
    wanted = values.get("own")
    if wanted is None:
        return values
    kind = wanted.rpartition(":")[2]
    for words in own:
        if words.rpartition(":")[2] == kind:
            return {**values, "own": words}
    raise ArgumentError(
        f"{name} has a trick of your own, {kind}\n"
        f"  fix: say where it is: {load_text(name, [f'FILE:{kind}'])}; "
        f"for tundish tune: --own FILE:{kind}"
    )
