"""Planted bottlenecks: the verdict names the cause. No test asserts a time."""

import sys
import time

import pytest
import torch
from torch.utils.data import DataLoader
from tundish.diagnosis.facts_file import parse_facts
from tundish.diagnosis.verdict.straggler import judge_ranks

from tests.helpers import plants
from tests.helpers.plants import Samples, Slow, SlowStorage, verdict_on
from tests.helpers.two_ranks import run_two_ranks

HERE = "test_doctor_planted.py"


@pytest.fixture(autouse=True)
def one_thread():
    """Limits torch to one thread; spinning threads would distort the measured loop."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_slow_storage_is_the_cause():
    verdict = verdict_on(DataLoader(SlowStorage(), 4))
    assert (verdict.cause.name, verdict.cause.detail) == ("storage", "Samples.read")
    assert "reading" in verdict.sentence
    assert verdict.figures.ceiling_s < verdict.figures.step_s / 2
    assert verdict.figures.ceiling_from == "cached"


def test_slow_storage_in_a_worker_process_is_the_cause():
    verdict = verdict_on(DataLoader(SlowStorage(), 4, num_workers=1))
    assert (verdict.cause.name, verdict.cause.detail) == ("storage", "Samples.read")
    assert "num_workers=1" in verdict.sentence


def test_slow_decoding_is_the_cause():
    verdict = verdict_on(DataLoader(plants.SlowDecode(), 4))
    assert verdict.cause.name == "decode"


def test_a_slow_python_transform_is_the_cause():
    verdict = verdict_on(DataLoader(plants.SlowTransform(), 4))
    assert (verdict.cause.name, verdict.cause.detail) == ("transform", "PythonJitter")
    assert any("PythonJitter" in one.what for one in verdict.changes)


def test_too_few_workers_are_the_cause():
    verdict = verdict_on(DataLoader(plants.SomewhatSlowStorage(), 8), Slow(0.05))
    assert verdict.cause.name == "workers"
    first = verdict.changes[0]
    assert "num_workers=" in first.how
    assert first.predicted_s < verdict.figures.step_s


def test_slow_host_code_is_the_cause():
    verdict = verdict_on(DataLoader(Samples(), 4), after_step=lambda: time.sleep(0.05))
    assert verdict.cause.name == "host"
    assert verdict.cause.detail.startswith(HERE)
    assert f"{HERE}:" in verdict.changes[0].how
    long_line = "time.sleep(0.05)" if sys.version_info >= (3, 11) else "verdict = verdict_on("
    assert long_line in verdict.changes[0].how


def test_the_model_bounds_the_step():
    verdict = verdict_on(DataLoader(Samples(), 4), Slow(0.05))
    assert (verdict.cause.name, verdict.cause.detail) == ("compute", "forward")
    assert "tundish tune" in verdict.changes[-1].how


def test_a_loss_outside_modules_belongs_to_the_model():
    """The loop itself calls a loss function of torch."""
    model = Slow()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scores, classes = torch.randn(6000, 1000), torch.zeros(6000, dtype=torch.int64)
    with plants.watched() as session:
        for _, (x, _) in zip(range(25), DataLoader(Samples(), 4)):
            optimizer.zero_grad()
            model(x).sum().backward()
            torch.nn.functional.cross_entropy(scores, classes)
            optimizer.step()
    cause = plants.judge(session.end()).cause
    assert (cause.name, cause.detail) == ("compute", "forward")


def test_an_unknown_iterator_is_judged():
    def batches():
        while True:
            time.sleep(0.03)
            yield torch.ones(4, 8), torch.zeros(4, dtype=torch.int64)

    verdict = verdict_on(batches())
    assert verdict.cause.name == "loader"
    assert verdict.cause.detail.startswith(HERE)
    assert verdict.figures.ceiling_from == "computed"


def test_one_straggling_rank_is_the_cause(tmp_path):
    """Rank 1 of two ranks over gloo reads from slow storage."""
    values = run_two_ranks("tests.helpers.straggler_child", tmp_path)
    facts = [parse_facts(one, "") for one in values]
    assert [(one.rank, one.world, one.phase) for one in facts] == [
        (0, 2, "done"),
        (1, 2, "done"),
    ]
    verdict = judge_ranks(facts)
    assert verdict.cause.name == "straggler"
    assert verdict.cause.detail.startswith("rank 1: waiting for data, reading the samples")
    assert verdict.sentence.startswith("Rank 1 makes the other rank wait ")
    assert verdict.changes[0].predicted_s < verdict.figures.step_s
    assert [one["rank"] for one in verdict.ranks] == [0, 1]
    assert "Ranks: waiting for the others" in str(verdict)
