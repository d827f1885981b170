"""The search, with trials that are answered from a table instead of run."""

import pytest
from tundish.boosting.search.candidates import candidates
from tundish.boosting.search.results import FAILED, KEPT, LEFT_OUT, NO_GAIN, REJECTED
from tundish.boosting.search.search import BoostError, Search, SearchOptions
from tundish.boosting.trials.trial import TrialResult
from tundish.diagnosis.probe.facts import EngineFacts, TorchFacts
from tundish.diagnosis.probe.proof.proof_facts import GradientFacts, RunFacts

from tests.helpers.written_facts import facts, sampled, step

CURVE = [[2.0 - 0.02 * number] for number in range(30)]
SAME = GradientFacts({}, 1.0, 1.0, 0)
MODEL = {
    "identity": {"name": "train.Net", "digest": "d", "parameters": 10, "device": "cpu"},
    "place": {"file": "train.py", "line": 12},
    "calls": 3,
    "shapes": 1,
    "autocast": False,
    "compiled": False,
    "scripted": False,
    "channels_last": "",
    "types": ["torch.float32"],
}
SURVEY = {
    "models": [MODEL],
    "optimizers": [{"identity": {"name": "torch.optim.SGD", "elements": 10}, "fused": ""}],
    "loader": {"dataset": "d", "samples": 9, "batch_size": 4, "sampler": "s", "stack": "x"},
    "loader_place": {"file": "train.py", "line": 10},
    "pins_memory": False,
    "scaler": False,
    "cudnn_benchmark": False,
    "matmul_tf32": False,
    "steps": 3,
    "bf16": True,
    "device": "cpu",
}


def result(step_s, wait_s=0.0, compute_s=None, losses=CURVE, **more):
    times = [compute_s or step_s - wait_s] * 8
    about = {
        "steps_s": [step_s] * 8,
        "waits_s": [wait_s] * 8,
        "compute_s": [times],
        "runs": [RunFacts("changed", losses, SAME)],
        "samples": 32,
    }
    return TrialResult(**{**about, **more})


def baseline(step_s=0.1, wait_s=0.0, survey=SURVEY, engine_s=None):
    engine = None if engine_s is None else EngineFacts(True, "native", engine_s)
    decoding = [("decode", "decode", wait_s / 10, 0.0)]
    loader = sampled(decoding, wait_s / 10, workers=0, engine=engine)
    steps = [
        step("measure", data=wait_s, forward=(step_s - wait_s) / 2, backward=(step_s - wait_s) / 2)
    ]
    found = facts(steps=steps * 20, loader=loader, torch=TorchFacts("2.13", 2, None))
    runs = [
        RunFacts("plain", CURVE),
        *(RunFacts(k, CURVE, SAME) for k in ("plain", "nudged", "random")),
    ]
    return result(step_s, wait_s, facts=found, survey=survey, runs=runs)


class Table:
    """Answers trials by the names of their changes; every other trial gets `usual`."""

    def __init__(self, base, answers, usual=None):
        self._base, self._answers, self._usual = base, answers, usual or base
        self.asked = []

    def run(self, plan):
        names = tuple(sorted(change.name for change in plan.request.changes))
        self.asked.append(names)
        if plan.is_baseline:
            return self._base
        answer = self._answers.get(names, self._usual)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def searched(table, **options):
    return Search(table, SearchOptions(**options), lambda what, left: None).run()


def verdicts(found):
    return {row.title: row.verdict for row in found.rows}


def test_changes_that_pay_are_kept_and_confirmed_in_a_fresh_run():
    answers = {
        ("bf16",): result(0.05),
        ("bf16", "channels_last"): result(0.049),
        ("bf16", "compile"): result(0.025),
    }
    table = Table(baseline(), answers)
    found = searched(table)
    assert verdicts(found) == {
        "data: Tundish's engine": LEFT_OUT,
        "bf16 autocast": KEPT,
        "channels_last": NO_GAIN,
        "fused optimizer": NO_GAIN,
        "torch.compile": KEPT,
    }
    assert [change["name"] for change in found.changes] == ["bf16", "compile"]
    assert table.asked[-2:] == [("bf16", "compile"), ()]  # boosted and unmodified, in turn
    assert found.gain == pytest.approx(4)
    assert found.proof["passed"]


def fresh_run(second):
    """Answers the first trial of bf16 with a gain, and the fresh run with `second`."""

    class Fresh(Table):
        def run(self, plan):
            answer = super().run(plan)
            is_again = self.asked.count(("bf16",)) > 1 and self.asked[-1] == ("bf16",)
            return second if is_again else answer

    return Fresh(baseline(), {("bf16",): result(0.05)})


@pytest.mark.parametrize(
    ("second", "note"),
    [
        (result(0.15), "the fresh run was not faster: 0.67x; nothing is kept"),
        (result(0.05, losses=[[1.0]] * 30), "all changes together fail the check"),
        (TrialResult(failed="signal 9 ended the script"), "the fresh run failed: signal 9"),
    ],
)
def test_what_a_fresh_run_does_not_confirm_is_not_kept(second, note):
    found = searched(fresh_run(second))
    assert not found.changes
    assert found.gain == 1
    assert KEPT not in verdicts(found).values()
    assert any(note in text for text in found.notes)


def test_a_faster_change_that_trains_otherwise_is_rejected():
    wrong = [[loss[0] * 0.5] for loss in CURVE]
    found = searched(Table(baseline(), {("bf16",): result(0.01, losses=wrong)}))
    assert verdicts(found)["bf16 autocast"] == REJECTED
    assert not found.changes
    assert found.gain == pytest.approx(1)


def test_a_change_that_fails_the_script_is_reported_with_its_last_lines():
    failed = TrialResult(failed="the script ended with exit code 1", output="a\nMemoryError: b")
    found = searched(Table(baseline(), {("bf16",): failed}))
    row = next(row for row in found.rows if row.title == "bf16 autocast")
    assert row.verdict == FAILED
    assert "MemoryError: b" in row.reason


def test_the_engine_comes_first_and_is_tried_again_if_a_faster_model_waits_for_data():
    answers = {("accelerate",): result(0.03), ("accelerate", "bf16"): result(0.02)}
    found = searched(Table(baseline(0.1, 0.08, engine_s=0.001), answers))
    assert next(change["name"] for change in found.changes) == "accelerate"
    base = baseline(0.1, 0.001, engine_s=0.001)
    answers = {("bf16",): result(0.05, 0.04), ("accelerate", "bf16"): result(0.011)}
    found = searched(Table(base, answers))
    assert [change["name"] for change in found.changes] == ["bf16", "accelerate"]


def test_a_model_that_takes_little_of_the_step_is_left_alone():
    found = searched(Table(baseline(0.1, 0.098), {}))
    assert "changes of the model were not tried: it takes 2% of the step" in found.notes


def test_select_and_ignore_choose_the_changes():
    table = Table(baseline(), {})
    searched(table, select=["channels_last", "fused"], ignore=["fused"])
    assert {names for names in table.asked if names} == {("channels_last",)}


def test_what_the_script_does_already_is_left_out_with_its_line():
    survey = {**SURVEY, "scaler": True}
    found = candidates(survey, searched_verdict(), "")
    left_out = [(one.name, one.reason, one.place) for one in found.left_out]
    assert ("bf16", "already done", "train.py:12") in left_out


def searched_verdict():
    from tundish.diagnosis.verdict.verdict import judge

    return judge(baseline().facts)


@pytest.mark.parametrize(
    ("base", "text"),
    [
        (
            TrialResult(failed="the script ended with exit code 1", output="KeyError: 'x'"),
            "KeyError",
        ),
        (
            TrialResult(
                failed="the script ended with exit code 1",
                output="EOFError: EOF when reading a line",
            ),
            "standard input",
        ),
        (TrialResult(failed="the script ended after 9 steps: too few to measure"), "50 steps"),
        (result(0.1), "no training loop was found"),
    ],
)
def test_a_script_that_cannot_be_measured_is_explained(base, text):
    with pytest.raises(BoostError, match=text):
        searched(Table(base, {}))


def test_ctrl_c_keeps_the_best_so_far():
    answers = {("bf16",): result(0.05), ("bf16", "channels_last"): KeyboardInterrupt()}
    found = searched(Table(baseline(), answers))
    assert [change["name"] for change in found.changes] == ["bf16"]
    assert not found.finished
    assert found.gain == pytest.approx(2)


def test_a_noisy_machine_hides_small_gains_and_says_so():
    base = baseline()
    noisy = TrialResult(**{**vars(base), "compute_s": [[0.1] * 8, [0.12] * 8]})
    found = searched(Table(noisy, {("bf16",): result(0.09)}, usual=result(0.1)))
    assert verdicts(found)["bf16 autocast"] == NO_GAIN
    assert any("busy" in text for text in found.notes)
