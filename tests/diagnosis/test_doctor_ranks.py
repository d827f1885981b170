"""Verdicts on several ranks and on changes that --apply tries, from facts constructed by hand."""

import pytest
from tundish.diagnosis.process.apply_change import apply_change
from tundish.diagnosis.process.command import CommandResult
from tundish.diagnosis.verdict.straggler import judge_ranks
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, line, sampled, step, with_applied


def ranks(*steps):
    return [facts([one] * 20, rank=rank, world=len(steps)) for rank, one in enumerate(steps)]


def test_the_rank_that_does_not_wait_is_the_slow_one():
    found = ranks(step(communication=0.1), step(other=0.1), step(communication=0.09))
    found[1].lines.append(line("other", 1.0, name="log"))
    verdict = judge_ranks(found)
    assert verdict.cause.name == "straggler"
    assert verdict.cause.detail == "rank 1: host code outside the model, train.py:9 (log)"
    assert verdict.sentence.startswith("Rank 1 makes the 2 other ranks wait 71 % of every step")
    assert verdict.changes[0].predicted_s == pytest.approx(0.133 - 0.095)


def test_on_gpus_the_wait_for_other_ranks_is_inside_backward():
    gpu = {"forward": 0.01, "backward": 0.12}
    slow = {"forward": 0.11, "backward": 0.02}
    verdict = judge_ranks(ranks(step(gpu=gpu), step(gpu=slow)))
    assert verdict.cause.detail == "rank 1: its forward pass"
    assert [one["waits_s"] for one in verdict.ranks] == pytest.approx([0.1, 0.0])


def test_ranks_that_all_wait_have_a_slow_network_but_balanced_ranks_do_not():
    verdict = judge_ranks(ranks(step(communication=0.1), step(communication=0.1)))
    assert verdict.cause.name == "communication"
    assert "Communication between the ranks takes 75 % of every step." in str(verdict)
    assert judge_ranks(ranks(step(), step())).cause.name == "compute"
    alone = [facts([step(communication=0.1)] * 20), facts([step()] * 20)]  # two independent runs
    assert judge_ranks(alone).ranks == []


def change_of(verdict, apply):
    numbers = [i for i, one in enumerate(verdict.changes, 1) if one.apply == apply]
    assert len(numbers) == 1
    return numbers[0]


def test_a_change_is_tried_and_compared_with_its_prediction():
    loader = sampled([("PIL", "decode", 0.01, 0.0)], 0.01, dataset="a.B")
    before = facts([step(data=0.017)] * 20, loader=loader, origins=["c0", "ffee"])
    after = facts([step(data=0.002)] * 20, loader=loader)
    after = with_applied(after, True, "num_workers=3")
    asked = []

    def run(*wanted):
        asked.append(wanted)
        return CommandResult(0, [after])

    verdict = judge(before)
    apply_change(verdict, change_of(verdict, "workers=3"), run)
    by_number = verdict.applied
    apply_change(verdict, "workers=3", run)
    assert verdict.applied == by_number
    assert asked == [("workers=3", "a.B", "c0,ffee")] * 2
    assert "try: --apply workers=3\n" in str(verdict)
    assert verdict.applied["measured_s"] == pytest.approx(0.035)
    assert verdict.applied["difference"] == pytest.approx(0.035 / 0.0333 - 1, abs=0.02)
    assert "tried: 35.0 ms measured; predicted 33" in str(verdict)


def test_a_change_that_is_not_in_the_list_has_no_prediction():
    after = with_applied(facts([step(data=0.002)] * 20), True, "num_workers=7")
    verdict = judge(facts([step(data=0.017)] * 20))
    apply_change(verdict, "workers=7", lambda *wanted: CommandResult(0, [after]))
    assert (verdict.applied["number"], verdict.applied["predicted_s"]) == (None, None)
    assert "Change workers=7, tried: 35.0 ms measured\n" in str(verdict)


def test_a_change_that_makes_the_step_slower_says_so():
    after = with_applied(facts([step(data=0.027)] * 20), True, "num_workers=7")
    verdict = judge(facts([step(data=0.017)] * 20))
    apply_change(verdict, "workers=7", lambda *wanted: CommandResult(0, [after]))
    assert "tried: 60.0 ms measured, slower than now (50.0 ms)\n" in str(verdict)


def changed_in_one_rank():
    found = ranks(step(other=0.1), step(communication=0.1))
    return [with_applied(found[0], True, "num_workers=3"), with_applied(found[1], False, "kept")]


@pytest.mark.parametrize(
    ("number", "ended", "text"),
    [
        (9, None, "the list has"),
        (2, None, "the change needs an edit: tundish tune"),
        (1, CommandResult(3, []), "the second run had no steps and ended with 3"),
        (1, CommandResult(0, [facts([step()] * 20)]), "the watch did not observe it"),
        (1, CommandResult(0, changed_in_one_rank()), "kept"),
    ],
)
def test_a_change_that_cannot_be_tried_is_reported(number, ended, text):
    loader = sampled([("PIL", "decode", 0.01, 0.0)], 0.01, dataset="a.B")
    verdict = judge(facts([step(data=0.017)] * 20, loader=loader))
    verdict.changes = [verdict.changes[0], verdict.changes[-1]]
    assert verdict.changes[0].apply.startswith("workers=")
    apply_change(verdict, number, lambda *wanted: ended)
    assert not verdict.applied["done"]
    assert text in verdict.applied["text"]
    assert f"Change {number} was not tried: " in str(verdict)
