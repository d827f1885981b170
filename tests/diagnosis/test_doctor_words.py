"""Text for readers: short forms in notebooks, counts, footnotes, the line a change concerns."""

import sys
import time
from dataclasses import replace

import pytest
import torch
import tundish
from tundish.diagnosis.lightning_callback import DoctorCallback
from tundish.diagnosis.probe.clocks.blocked_clock import BlockedClock
from tundish.diagnosis.probe.loaders.dataset_profile import profile_dataset
from tundish.diagnosis.probe.profiles.recorded_facts import RecordedFacts
from tundish.diagnosis.probe.session import Session
from tundish.diagnosis.probe.settings import Settings
from tundish.diagnosis.process.command import resolve_command
from tundish.diagnosis.report.verdict_text import verdict_text
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, sampled, step
from tests.helpers.written_records import recorded


def test_a_notebook_shows_the_text_and_not_every_step():
    verdict = judge(facts([step(data=0.1) for _ in range(300)]))
    assert repr(verdict) == f"<Verdict: {verdict.sentence}>"
    shown = verdict._repr_html_()
    assert shown.startswith("<pre>")
    assert verdict.sentence.replace("'", "&#x27;") in shown


def test_a_notebook_shows_layers_in_short_form():
    layers = tundish.layers(torch.nn.Linear(4, 4), torch.rand(2, 4), steps=1)
    assert repr(layers) == "<Layers: 1 layer, cpu>"
    assert "roof, measured" in layers._repr_html_()


def test_a_computed_ceiling_has_its_footnote():
    computed = judge(facts([step(data=0.1) for _ in range(20)]))
    assert "* computed" in verdict_text(computed)
    assert any("no step had cached batches" in note for note in computed.notes)
    steps = [step(data=0.1) for _ in range(20)] + [step("cached") for _ in range(5)]
    measured = judge(facts(steps))
    assert "*" not in verdict_text(measured)
    assert measured.notes == []


def test_singular_counts_have_no_plural():
    one = judge(facts([step("warm-up"), step("warm-up")]))
    assert "measured: 1 step;" in str(one)
    assert "only 1 step was measured, at the beginning: the figures are noisy" in one.notes
    rare = judge(facts([step(other=9.0 if number == 7 else 0.0) for number in range(30)]))
    assert "1 unusually long step omitted (validation, checkpoints)" in rare.notes


def test_figures_of_fewer_than_five_steps_are_unsteady():
    long = judge(facts([step(other=9.0 if number < 2 else 0.0) for number in range(5)]))
    assert long.figures.few
    assert "only 3 steps remain: the figures are noisy" in long.notes
    assert "measured: 3 of 5 steps;" in str(long)


def test_a_loop_inside_a_block_is_not_called_a_script():
    seen = facts([step("warm-up")], optimizer_steps=3)
    assert judge(seen).sentence == "No verdict: the script ended after 3 optimizer steps."
    assert judge(seen, "").sentence == "No verdict yet, after 3 optimizer steps."
    with tundish.doctor(memory_lines=True) as doctor:
        train(optimizer_steps=2)
    assert doctor.verdict.sentence == "No verdict: the training ended after 2 optimizer steps."
    assert [note.partition(":")[0] for note in doctor.verdict.notes] == [
        "the memory of a step is missing"
    ]


def train(optimizer_steps):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x in torch.utils.data.DataLoader(torch.ones(optimizer_steps, 4)):
        model(x).sum().backward()
        optimizer.step()


class SlowRow(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.ones(4)


def test_a_loop_that_ends_early_has_its_line_and_worker_processes():
    session = Session(Settings(), None)
    session.begin()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    line = sys._getframe().f_lineno + 1
    for x in torch.utils.data.DataLoader(SlowRow()):
        model(x).sum().backward()
        optimizer.step()
    verdict = judge(replace(session.end(), cpus=8))
    place = f"test_doctor_words.py:{line}"
    assert verdict.sentence.endswith(f": the loader ({place}), with num_workers=0.")
    assert verdict.changes[0].apply == "workers=4"
    assert verdict.changes[0].predicted_s is None


def test_arguments_are_called_as_they_are_written():
    with pytest.raises(tundish.ArgumentError, match=r"^table=foo: not one of simple, advanced"):
        tundish.doctor(table="foo")
    with pytest.raises(tundish.ArgumentError, match=r"^timeline=a\.txt: the timeline is JSON"):
        tundish.doctor(timeline="a.txt")


@pytest.mark.parametrize("name", ["timeline", "functions", "memory"])
def test_a_missing_requested_part_gets_a_note(name):
    missing = facts([step()] * 20, recorded=RecordedFacts([name]), phase="measure")
    text = "the script ended before a step was recorded"
    assert sum(text in note for note in judge(missing).notes) == 1
    failed = replace(missing, recorded=RecordedFacts([name], {name: "why"}))
    assert f"{name}: recording failed: why" in judge(failed).notes
    assert not any(text in note for note in judge(failed).notes)
    there = recorded()
    assert getattr(there, name).steps
    assert not any(text in note for note in judge(facts([], recorded=there)).notes)


def test_cached_batches_that_save_more_than_the_waiting_are_explained():
    slow = [step(data=0.01, backward=0.04) for _ in range(20)]
    fast = [step("cached") for _ in range(5)]
    assert any("with cached batches" in note for note in judge(facts(slow + fast)).notes)
    alike = [step(data=0.01) for _ in range(20)]
    assert judge(facts(alike + fast)).notes == []


def test_a_change_names_the_line_and_small_rows_are_omitted(tmp_path):
    (tmp_path / "data.py").write_text("import time\ntime.sleep(1)\n")
    loader = sampled([("sleep", "other", 0.098, 0.098), ("randn", "other", 0.002, 0.0)], 0.1, 0.098)
    rows = loader.samples.rows
    rows[0] = replace(rows[0], file=str(tmp_path / "data.py"), line=2)
    changes = judge(facts([step(data=0.467) for _ in range(20)], loader=loader)).changes
    named = [one for one in changes if one.what.startswith("read faster")]
    assert [one.how for one in named] == [f"{tmp_path / 'data.py'}:2  time.sleep(1)"]
    assert not any("randn" in one.what for one in changes)


def test_a_loading_change_saves_at_most_the_waiting_and_its_own_time():
    """Cached batches halve the step because the CPUs are busy; one more worker would gain less."""
    loader = sampled([("Crop", "transform", 0.002, 0.0)], 0.003, workers=1)
    slow = [step(data=0.010, forward=0.040, backward=0.050) for _ in range(20)]
    fast = [step("cached", cpu_s=0.01) for _ in range(5)]
    changes = judge(facts(slow + fast, loader=loader)).changes
    predicted = {one.what.split(" ")[1]: one.predicted_s for one in changes if one.predicted_s}
    assert predicted["worker"] == pytest.approx(0.093)
    assert 0.093 - 0.03 <= predicted["cheaper"] < 0.093


class _Waits(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        time.sleep(0.001)
        return torch.rand(2), [torch.zeros(1) for _ in range(2)]


def test_rows_of_a_data_set_have_the_users_line_and_plain_names():
    rows = profile_dataset(torch.utils.data.DataLoader(_Waits(), 4), 0.2).rows
    names = {row.name: row for row in rows}
    assert {"sleep", "torch.rand"} <= set(names)
    assert not any("<" in name for name in names)
    with open(__file__) as file:
        lines = file.read().splitlines()
    assert names["sleep"].file == __file__
    assert lines[names["sleep"].line - 1].strip() == "time.sleep(0.001)"


def test_rows_of_an_installed_data_set_have_no_line_of_the_training_loop():
    tensors = torch.utils.data.TensorDataset(torch.rand(8, 2))
    rows = profile_dataset(torch.utils.data.DataLoader(tensors, 4), 0.2).rows
    assert all(row.file == "" for row in rows)


@pytest.mark.parametrize("spin_s", [0.0002, 0.002])
def test_a_thread_that_computes_is_not_blocked(spin_s):
    """schedstat lags by up to a tick, so short computations looked blocked on a disk."""
    clock = BlockedClock()
    wall, blocked = clock.now()
    until = time.thread_time() + spin_s
    while time.thread_time() < until:
        pass
    end = clock.now()
    clock.close()
    assert end[1] - blocked <= end[0] - wall - spin_s + 1e-9


def test_a_killed_process_has_written_its_loader_settings():
    session = Session(Settings(), None)
    session.watch.feeding.loader = torch.utils.data.DataLoader(_Waits(), 4)
    found = session.write().loader
    assert found.batch_size == 4
    assert found.samples is None


def test_the_callback_accepts_layers():
    assert DoctorCallback(layers=False)._doctor._settings.layers == 0
    assert DoctorCallback()._doctor._settings.layers > 0


@pytest.mark.parametrize(
    ("text", "mode", "name", "starts"),
    [
        ("print()\n", 0o644, "./train.py", False),
        ("print()\n", 0o755, "./train.py", False),  # like a file system without permissions
        ("#!/usr/bin/python3\n", 0o755, "./train.py", True),
        ("#!/usr/bin/python3\n", 0o644, "./train.py", False),
        ("#!/usr/bin/python3\n", 0o755, "train.py", False),  # not on the PATH
    ],
)
def test_a_script_that_no_shell_could_start_gets_an_interpreter(
    text, mode, name, starts, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "train.py").chmod(mode)
    words = [name, "--lr", "1"]
    assert resolve_command(words) == (words if starts else [sys.executable, *words])
