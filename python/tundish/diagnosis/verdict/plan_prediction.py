"""`--plan FILE`: adds a plan of `tundish tune` to the proposed changes, with its predicted step time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .changes import Change, sort_changes
from .figures import COMPUTE
from .verdict import Verdict

if TYPE_CHECKING:
    from ...tuning.plan import Plan


def add_plan(verdict: Verdict, plan: Plan, path: str) -> None:
    """Adds the plan as a change. Its gain applies only to the time in the model and the optimizer."""
    found = verdict.figures
    if found is None:
        return
    gain = plan.report.gains.get("baseline", {}).get("gain")
    compute = sum(found.parts[part] for part in COMPUTE)
    predicted = found.step_s - compute * (1 - 1 / gain) if gain else None
    tricks = ", ".join(trick.title for trick in plan.tricks) or "no tricks"
    change = Change(
        f"the plan {os.path.basename(path)}: {tricks}",
        f'plan = tundish.load_plan("{path}")',
        predicted,
        at_best=True,  # in a user's loop, some tricks cannot be applied
        apply=f"plan={os.path.abspath(path)}",
    )
    verdict.changes = sort_changes([*verdict.changes, change])
