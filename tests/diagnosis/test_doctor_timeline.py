"""Timelines of real loops: loader threads, worker processes, the loop and torch in one window."""

import json
import os
import sys
import warnings
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, TensorDataset
from tundish import transforms as T
from tundish.data import traces
from tundish.diagnosis.cli.doctor_verb import main
from tundish.diagnosis.probe.clocks.step_ledger import StepLedger
from tundish.diagnosis.probe.recorders import Guarded
from tundish.diagnosis.timeline.loader_trace import read_loader_trace

STEPS = 5


def train(batches, times=1):
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(8))
    optimizer = None
    for _ in range(times):
        for x, y in batches:
            loss = torch.nn.functional.cross_entropy(model(x.float()), y.long())
            optimizer = optimizer or torch.optim.SGD(model.parameters(), 1e-6)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def read(path):
    values = json.loads(path.read_text())
    found = [one for one in values["traceEvents"] if one["ph"] == "X"]
    steps = sorted(
        (one["ts"], one["ts"] + one["dur"]) for one in found if one["name"][:5] == "step "
    )
    return values, found, steps


def inside(span, steps):
    """Returns whether a span overlaps the window."""
    return span["ts"] < steps[-1][1] and span["ts"] + span["dur"] > steps[0][0]


def test_threads_of_a_tundish_loader_are_in_the_window(photos, tmp_path):
    with tundish.doctor(
        steps=5, cached_batches=False, layers=False, timeline=tmp_path / "t.json"
    ) as doctor:
        loader = tundish.Loader(photos.pack, 2, transforms=[T.RandomResizedCrop(16)], threads=2)
        train(loader, times=60)
    folder = doctor._settings.timeline_folder
    loader.close()  # the trace folder no longer exists; no warning may follow
    seen = doctor.verdict.timeline
    assert seen["notes"] == []
    assert seen["steps"] >= STEPS  # a step at the end of an epoch is additional
    _, found, steps = read(tmp_path / "t.json")
    assert len(steps) == seen["steps"]
    assert all(a[1] <= b[0] + 1 for a, b in pairwise(steps))
    by_category = {}
    for one in found:
        by_category.setdefault(one["cat"], []).append(one)
    decoded = by_category["tundish.loader"]
    assert any(one["name"].startswith(("lanes.", "decode.")) for one in decoded)
    assert all(inside(one, steps) for one in decoded)
    operators = [one for one in by_category["cpu_op"] if one["name"] == "aten::linear"]
    backward = [one for one in by_category["tundish.loop"] if one["name"] == "backward"]
    assert len(operators) == len(backward) == len(steps)
    # One clock: in each step the forward operator precedes the loop's backward, both inside the
    # step.
    for step, forward, later in zip(steps, sorted(o["ts"] for o in operators), backward):
        assert step[0] - 50e3 < forward < later["ts"] + 50e3 < step[1] + 100e3
    assert folder
    assert not os.path.exists(folder)


def test_a_loader_that_is_older_than_the_doctor_is_recorded_while_it_records(photos, tmp_path):
    crop = [T.RandomResizedCrop(16)]
    loader = tundish.Loader(photos.pack, 2, transforms=crop, threads=2)
    for number in range(2):  # a second doctor must not find spans of the first
        name = tmp_path / f"{number}.json"
        with tundish.doctor(steps=5, cached_batches=False, layers=False, timeline=name) as doctor:
            train(loader, times=60)
        assert doctor.verdict.timeline["notes"] == []
        _, found, steps = read(name)
        spans = [one for one in found if one["cat"] == "tundish.loader"]
        assert any(one["name"].startswith(("lanes.", "decode.")) for one in spans)
        assert any(one["name"] == "engine.take" for one in spans)
        assert all(inside(one, steps) for one in spans)
        assert loader._engine.write_trace() is None  # recording has ended
    loader.close()


def test_loaders_of_one_epoch_are_all_in_the_timeline(photos, tmp_path):
    crop = [T.RandomResizedCrop(16)]
    folder = tmp_path / "parts"
    folder.mkdir()
    traces.start(str(folder))
    for _ in range(3):
        with tundish.Loader(photos.pack, 2, transforms=crop, threads=1) as loader:
            list(loader)
    living = tundish.Loader(photos.pack, 2, transforms=crop, threads=1)
    list(living)
    files = traces.stop()
    assert sorted(files) == sorted(str(one) for one in folder.iterdir())
    assert len(files) == 4
    for file in files:
        names = [span[0] for spans in read_loader_trace(file).spans.values() for span in spans]
        assert names.count("engine.deliver") == len(living)
    living.close()


def test_worker_processes_of_torch_wait_and_fetch(tmp_path):
    data = TensorDataset(torch.zeros(400, 4), torch.zeros(400))
    with tundish.doctor(
        steps=5, cached_batches=False, layers=False, timeline=tmp_path / "t.json"
    ) as doctor:
        train(DataLoader(data, 4, num_workers=1))
    _, found, steps = read(tmp_path / "t.json")
    names = [one["name"] for one in found if one["cat"] == "tundish.workers"]
    assert doctor.verdict.timeline["sources"]["workers"] == len(names)
    assert {"worker.wait", "worker.fetch"} <= set(names)
    assert all(inside(one, steps) for one in found if one["cat"] == "tundish.workers")
    assert all(one["dur"] >= 0 for one in found)
    text = str(doctor.verdict)
    assert f"Timeline of {STEPS} steps: {tmp_path / 't.json'}" in text
    fetch = torch.utils.data._utils.fetch._MapDatasetFetcher.fetch
    assert not hasattr(fetch, "__wrapped__")


def test_a_loader_with_a_trace_of_its_own_keeps_it(photos, tmp_path):
    with tundish.doctor(steps=5, cached_batches=False, layers=False, timeline=tmp_path / "t.json"):
        crop, own = [T.RandomResizedCrop(16)], tmp_path / "own.json"
        loader = tundish.Loader(photos.pack, 2, transforms=crop, threads=1, trace=own)
        train(loader, times=60)
        loader.close()
    assert json.loads((tmp_path / "own.json").read_text())["traceEvents"]
    assert any(one["cat"] == "tundish.loader" for one in read(tmp_path / "t.json")[1])


def test_without_the_doctor_no_loader_has_a_trace(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = tundish.Loader(photos.pack, 2, transforms=[T.RandomResizedCrop(16)])
        assert loader._engine.write_trace() is None
        list(loader)
        loader.close()
    assert list(tmp_path.iterdir()) == []


def test_a_profiler_started_by_the_script_disables_only_the_timeline(tmp_path, monkeypatch):
    def fails(**words):
        raise RuntimeError("another profiler is active")

    monkeypatch.setattr(torch.profiler, "profile", fails)
    data = TensorDataset(torch.zeros(160, 4), torch.zeros(160))
    with tundish.doctor(
        steps=5, cached_batches=False, layers=False, timeline=tmp_path / "t.json"
    ) as doctor:
        train(DataLoader(data, 4))
    assert doctor.verdict.timeline is None
    assert "timeline: recording failed: RuntimeError: another profiler" in str(doctor.verdict)
    assert not (tmp_path / "t.json").exists()


class Breaks:
    """A recorder that raises in one of its functions."""

    steps = 5

    def __init__(self, where):
        self.failed, self._where, self.called = "", where, []

    def __getattr__(self, name):
        def call(*words):
            self.called.append(name)
            if name == self._where:
                raise ValueError(name)

        return call


@pytest.mark.parametrize("where", ["start", "changed", "step_ended", "stop", ""])
def test_a_failing_recorder_is_stopped_once_without_side_effects(where):
    inner = Breaks(where)
    recorder, ledger = Guarded(inner), StepLedger()
    recorder.start(SimpleNamespace(ledger=ledger))
    ledger.enter("forward")
    ledger.leave()
    recorder.step_ended(None)
    recorder.stop(ledger)
    recorder.stop(ledger)
    assert inner.failed == (f"ValueError: {where}" if where else "")
    assert inner.called.count("stop") == 1
    assert ledger.listener is None
    if where in ("start", "changed"):
        assert "step_ended" not in inner.called


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--timeline", "t.txt"], "the timeline is JSON"),
        (["--timeline", "/no/such/t.json"], "there is no folder"),
        (["--timeline", "r.json", "--html", "r.html"], "also the JSON file of the verdict"),
        (["--timeline", "./r.json", "--html", "r.html"], "also the JSON file of the verdict"),
        (["-o", "r.html", "--html", "./r.html"], "this is also the JSON file of --output"),
        (["--table", "wide"], "--table: 'wide' is not one of simple, advanced"),
    ],
)
def test_invalid_arguments_are_refused(words, text, capsys):
    assert main([*words, "--", sys.executable, "-c", "1"]) == 2
    assert text in capsys.readouterr().err
