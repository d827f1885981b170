"""A plan: the tricks that made one model train faster, with their measurements, ready to apply."""

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
from .report.results import TuneReport, report_from_json
from .step import LossFunction, Step
from .tricks import TRICKS, Trick, in_order, trick_from_json


@dataclass
class Plan:
    """The result of `tundish.tune`: tricks that speed up your training step, with their measurements.

    Apply the plan to your model and optimizer, then train with the step that it returns:

        step = plan.apply(model, optimizer, loss_fn)
        for batch in loader:
            loss = step(batch)
    """

    tricks: list[Trick]
    fingerprint: Fingerprint  # model, optimizer, batch, machine and torch version of the tuning run
    report: TuneReport
    _applied: list[tuple[Step, list[Trick]]] = field(default_factory=list, repr=False)

    def apply(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        loss_fn: LossFunction,
        max_norm: float | None = None,
    ) -> Step:
        """Returns a training step with the plan's tricks; `step(batch)` trains and returns the loss.

        The step uses your model and optimizer objects. You save their state_dict() and step your
        learning rate scheduler as before.

        max_norm  maximum gradient norm, clipped inside the step; None disables clipping
        """
        changed = [
            difference
            for difference in differences(self.fingerprint, model, optimizer)
            if difference.fatal
        ]
        if changed:
            raise ArgumentError(
                f"this plan is for another job: {changed[0].text}\n"
                "  fix: tune again: tundish tune FILE:FUNCTION"
            )
        step = Step(model, optimizer, loss_fn)
        step.max_norm = max_norm
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
        """Reverts everything that apply() changed: torch flags, weight layout, optimizer kernels."""
        while self._applied:
            step, done = self._applied.pop()
            step.reset()
            for trick in reversed(done):
                trick.undo(step)

    def changes(self, model: torch.nn.Module | None = None, optimizer: Any = None) -> list[str]:
        """Returns what has changed since the plan was made: GPU, torch, and the given model and optimizer."""
        return [difference.text for difference in differences(self.fingerprint, model, optimizer)]

    def patch(self) -> str:
        """Returns the plan as code for your own training loop, without the CUDA graph, which needs apply()."""
        device = "cpu" if self.fingerprint.device == "cpu" else "cuda"
        return patch_text(self.tricks, self.fingerprint.optimizer, device)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the plan as a JSON file. An existing file is replaced atomically."""
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


def load_plan(path: str | os.PathLike[str], custom_tricks: Sequence[str] = ()) -> Plan:
    """Loads a plan saved by Plan.save(). `plan.changes()` then lists what differs on this machine.

    custom_tricks  FILE:CLASS of your own tricks in the plan. Code is never loaded from a file that
                   only the plan names
    """
    name = os.fspath(path)
    own = [custom_tricks] if isinstance(custom_tricks, str) else custom_tricks
    try:
        values = read_checked(name)
        tricks = values["tricks"]
        made = [trick_of(one, f"tricks[{i}]", own, name) for i, one in enumerate(tricks)]
        check_once(made)
        return Plan(
            made,
            Fingerprint.from_json(values["fingerprint"]),
            report_from_json(values["report"]),
        )
    except BadField as error:
        raise ArgumentError(
            f"{name} is not a plan: {error}\n  fix: make it again: tundish tune FILE:FUNCTION -f -o {name}"
        ) from None


def read_checked(name: str) -> dict[str, Any]:
    """Returns the values of a plan file. Checks everything except the tricks, which may be user-defined."""
    values = read_plan(name)
    check_value(list[dict[str, Any]], part(values, "tricks"), "tricks")
    check_object(Fingerprint, part(values, "fingerprint"), "fingerprint")
    check_report(part(values, "report"))
    return values


def trick_of(values: dict[str, Any], where: str, own: Sequence[str], name: str) -> Trick:
    """Creates a trick from the values in a plan file. Checks its options."""
    check_value(str, part(values, "name", where), f"{where}.name")
    if "own" in values:
        check_value(str, values["own"], f"{where}.own")
    kind = next((kind for kind in TRICKS if kind.name == values["name"]), None)
    if kind is not None and "own" not in values:
        options = {field: value for field, value in values.items() if field != "name"}
        check_object(kind, options, where)
    try:
        return trick_from_json(replace_own_file(values, own, name))
    except ArgumentError:
        raise
    except Exception as error:  # a user's trick may raise anything
        raise BadField(f"{where}: {error}") from error


def check_once(tricks: list[Trick]) -> None:
    """Raises an error for a trick that is listed twice, because it could be undone only once."""
    for i, trick in enumerate(tricks):
        if any(type(trick) is type(other) for other in tricks[:i]):
            raise BadField(f"tricks[{i}] is {trick.name}, which the plan has already")


def replace_own_file(values: dict[str, Any], own: Sequence[str], name: str) -> dict[str, Any]:
    """Replaces the file of a user-defined trick by the file that the caller names.

    The file that the plan names is never imported.
    """
    wanted = values.get("own")
    if wanted is None:
        return values
    kind = wanted.rpartition(":")[2]
    for spec in own:
        if spec.rpartition(":")[2] == kind:
            return {**values, "own": spec}
    raise ArgumentError(
        f"{name} has a trick of your own, {kind}\n"
        f"  fix: name its file: {load_text(name, [f'FILE:{kind}'])}; "
        f"for tundish tune: --custom-trick FILE:{kind}"
    )
