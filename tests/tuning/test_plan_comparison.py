"""A saved plan compared with its new measurement."""

from tundish.tuning.report.results import NOT_CHECKED
from tundish.tuning.search.plan_comparison import compare_with_plan

from tests.helpers import tuning_reports as examples


def test_wrong_numbers_are_never_ok_however_fast_the_step_is():
    plan, now = examples.plan_of(examples.image_model()), examples.image_model()
    tricks = [trick.as_json() for trick in plan.tricks]
    assert compare_with_plan(tricks, plan.report, now, 3.0).ok
    for row in now.rows:
        if row.phase == "confirm" and row.tricks:
            row.verdict, row.numerics = "rejected", "loss differs by 500 x the fp32 noise"
            row.step_ms /= 2
    found = compare_with_plan(tricks, plan.report, now, 3.0)
    assert not found.ok
    assert found.word == "rejected"
    assert found.slower_percent < -40
    assert found.text.startswith("the numbers are wrong, loss differs by 500 x the fp32 noise; ")
    assert found.as_json(now)["ok"] is False


def test_numbers_that_were_not_checked_are_mentioned():
    plan, now = examples.plan_of(examples.image_model()), examples.image_model()
    now.notes = ["another note", f"{NOT_CHECKED}: no time left; --minutes gives more"]
    found = compare_with_plan([trick.as_json() for trick in plan.tricks], plan.report, now, 3.0)
    assert found.ok
    assert found.text.endswith(
        "; the numbers of the plan were not checked: no time left; --minutes gives more"
    )
