"""The tables of parts and functions."""

import re
import time

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, TensorDataset
from tundish.diagnosis.probe.profiles.function_times import MOST_ROWS, slowest
from tundish.diagnosis.probe.profiles.recorded_facts import (
    FunctionRow,
    FunctionsFacts,
    RecordedFacts,
)
from tundish.diagnosis.verdict.step_tables import simple_table
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, step

COUNTS = {"data": 1, "forward": 2, "backward": 1, "optimizer": 1, "zero_grad": 1}


def counted(**words):
    return step(**words, counts=COUNTS)


def test_the_simple_table_covers_only_measured_steps():
    steps = [counted(phase="warm-up", data=9), counted(boundary=True, data=9)]
    steps += [counted(data=0.005), counted(data=0.015), counted(phase="timeline", data=9)]
    rows = {one["part"]: one for one in simple_table(facts(steps))}
    assert set(rows) == {"data", "forward", "backward", "optimizer", "zero_grad"}
    assert (rows["data"]["count"], rows["forward"]["count"]) == (2, 4)
    assert rows["data"]["total_s"] == pytest.approx(0.020)
    assert rows["data"]["mean_s"] == pytest.approx(0.010)
    assert rows["forward"]["mean_s"] == pytest.approx(0.005)
    assert sum(one["share"] for one in rows.values()) == pytest.approx(1)
    assert rows["data"]["gpu_total_s"] is None


def test_time_on_a_gpu_is_by_events_and_belongs_to_the_part_that_launched_it():
    """The host waits in `other` (.item()), and the GPU works in backward."""
    gpu = {"forward": 0.010, "backward": 0.030, "other": 0.0}
    steps = [counted(gpu=gpu, other=0.040, forward=0.001, backward=0.002)] * 6
    verdict = judge(facts(steps))
    rows = {one["part"]: one for one in verdict.as_json()["tables"]["simple"]}
    assert rows["backward"]["gpu_share"] == pytest.approx(0.75)
    assert rows["backward"]["share"] < 0.1 < rows["other"]["share"]
    assert rows["other"]["gpu_share"] == 0
    verdict.table = "simple"
    assert re.search(r"backward +6 +2\.00 +12\.00 .* 30\.00 +180\.00 +75%", str(verdict))
    assert "GPU total" in str(verdict)


def test_a_table_is_shown_on_request():
    verdict = judge(facts([counted()] * 6))
    assert "Measured steps, by part" not in str(verdict)
    verdict.table = "advanced"  # cProfile recorded nothing because the script ended early
    assert "Measured steps, by part" in str(verdict)
    assert judge(facts([])).as_json()["tables"] == {"simple": [], "advanced": None}


def slow_function():
    time.sleep(0.003)


def test_the_advanced_table_names_the_slow_function():
    torch.set_num_threads(1)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = TensorDataset(torch.zeros(200, 4))
    with tundish.doctor(steps=5, cached_batches=False, layers=False, table="advanced") as doctor:
        for (x,) in DataLoader(data, 4):
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            slow_function()
    found = doctor.verdict.as_json()["tables"]["advanced"]
    assert found["steps"] == 5
    rows = {one["function"]: one for one in found["rows"]}
    assert rows["slow_function"]["calls"] == pytest.approx(1)
    assert rows["slow_function"]["all_s"] >= 0.003
    assert rows["slow_function"]["own_s"] < rows["built-in method time.sleep"]["own_s"]
    assert rows["slow_function"]["file"] == __file__
    assert not [one for one in found["rows"] if "diagnosis/probe" in one["file"]]
    assert re.search(r" 1\.0 .* built-in method time\.sleep", str(doctor.verdict))
    phases = [one.phase for one in doctor.verdict.facts.steps]
    assert phases.count("functions") == 5


def test_a_function_that_only_calls_a_slow_one_is_among_the_rows():
    quick = [FunctionRow(f"quick{i}", "", 0, 1.0, 0.001 + i / 1e6, 0.001) for i in range(100)]
    caller = FunctionRow("caller", "", 0, 1.0, own_s=0.000001, all_s=0.5)
    kept = [one.function for one in slowest([*quick, caller])]
    assert len(kept) == MOST_ROWS
    assert (kept[0], kept[-1]) == ("quick99", "caller")
    assert slowest([caller]) == [caller]


def test_a_function_waiting_for_a_tundish_loader_is_labeled():
    from tundish.data import loader_run as run

    row = FunctionRow("Run._request_batch", run.__file__, 157, 1.0, own_s=0.001, all_s=0.002)
    recorded = RecordedFacts(functions=FunctionsFacts(5, [row]))
    assert hasattr(run.Run, "_request_batch")
    verdict = judge(facts([step()] * 20, recorded=recorded))
    verdict.table = "advanced"
    assert "Run._request_batch  loader_run.py:157  (tundish.Loader: waiting for a batch)" in str(
        verdict
    )
