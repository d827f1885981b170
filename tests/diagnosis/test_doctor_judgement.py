"""Verdicts on facts constructed by hand: GPUs, ranks and endings that a test cannot create."""

import itertools
import json
import sys
from dataclasses import replace

import pytest
from tundish._process import code_origin, usable_cpus
from tundish.diagnosis.probe.clocks.gpu_clock import gpu_seconds
from tundish.diagnosis.probe.clocks.step_ledger import StepLedger
from tundish.diagnosis.probe.facts import EngineFacts, LoaderFacts
from tundish.diagnosis.probe.profiles.line_samples import LineSampler, _user_line
from tundish.diagnosis.probe.settings import Settings, from_variable, to_variable
from tundish.diagnosis.verdict.changes import Change, sort_changes
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import COMPUTE, ON_CPU, facts, line, sampled, step


def test_the_gpu_clock_takes_precedence():
    """The host waits for the GPU in backward, and the GPU itself waits for data."""
    gpu = {"data": 0.060, "forward": 0.010, "backward": 0.020, "other": 0.001}
    verdict = judge(facts([step(gpu=gpu, data=0.001) for _ in range(20)]))
    assert verdict.figures.clock == "gpu"
    assert verdict.cause.name == "loader"
    assert verdict.sentence.startswith("The GPU waits for data 66 % of every step")


def test_slow_copies_to_the_gpu_are_the_cause():
    gpu = {"copy": 0.030, "forward": 0.010, "backward": 0.020}
    verdict = judge(facts([step(gpu=gpu) for _ in range(20)]))
    assert verdict.cause.name == "copy"
    assert "pin_memory=True" in verdict.changes[0].how
    assert verdict.changes[0].predicted_s == pytest.approx(0.030)


def test_waiting_in_bursts_is_not_lost_in_a_median():
    steps = [step(data=0.2 if number % 4 == 0 else 0.0) for number in range(40)]
    verdict = judge(facts(steps))
    assert verdict.figures.parts["data"] == pytest.approx(0.05)
    assert verdict.cause.name == "loader"


def test_a_validation_between_steps_is_left_out():
    steps = [step(other=9.0 if number == 7 else 0.0) for number in range(30)]
    verdict = judge(facts(steps))
    assert verdict.cause.name == "compute"
    assert verdict.figures.rare_steps == 1
    assert any("omitted" in note for note in verdict.notes)


def test_cached_batches_give_the_ceiling_and_boundaries_do_not_count():
    cached = [step("cached", other=1.0), step("cached", other=1.0)]
    cached += [step("cached", own=5.0) for _ in range(5)] + [step("cached", boundary=True, other=9)]
    verdict = judge(facts([step(data=0.1) for _ in range(20)] + cached))
    assert verdict.figures.ceiling_from == "cached"
    assert verdict.figures.ceiling_s == pytest.approx(sum(COMPUTE.values()))


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([("read", "read", 0.09, 0.09), ("PIL", "decode", 0.01, 0)], "storage"),
        ([("what", "other", 0.09, 0.08), ("PIL", "decode", 0.01, 0)], "storage"),  # only waits
        ([("what", "other", 0.09, 0.0), ("PIL", "decode", 0.01, 0)], "dataset"),
        ([("read", "read", 0.02, 0.02), ("PIL", "decode", 0.08, 0)], "decode"),
        ([("Crop", "transform", 0.08, 0.0), ("PIL", "decode", 0.02, 0)], "transform"),
    ],
)
def test_the_slowest_stage_is_the_cause_where_workers_cannot_help(rows, cause):
    loader = sampled(rows, 0.1, sum(row[3] for row in rows))
    verdict = judge(facts([step(data=0.467) for _ in range(20)], loader=loader, cpus=3))
    assert verdict.cause.name == cause
    assert verdict.cause.detail == max(rows, key=lambda row: row[2])[0]


def test_workers_are_the_cause_where_more_of_them_make_loading_free():
    loader = sampled([("PIL", "decode", 0.01, 0.0)], 0.01, workers=2)
    verdict = judge(facts([step(data=0.017) for _ in range(20)], loader=loader, cpus=8))
    assert verdict.cause.name == "workers"
    assert verdict.changes[0].how.startswith("DataLoader(..., num_workers=3")
    assert verdict.changes[0].predicted_s == pytest.approx(0.033, rel=0.05)
    few_cpus = judge(facts([step(data=0.017) for _ in range(20)], loader=loader, cpus=2))
    assert few_cpus.cause.name == "decode"


def test_gradient_accumulation_loads_several_batches_per_step():
    """Ten samples of 10 ms make a batch, and eight batches a step: 800 ms in one process."""
    loader = sampled([("read", "read", 0.01, 0.01)], 0.01, 0.01, workers=0)
    steps = [replace(step(data=0.8), batches=8, fed=8) for _ in range(20)]
    verdict = judge(facts(steps, loader=loader, cpus=2))
    assert verdict.loading.batch_s == pytest.approx(0.1)
    assert verdict.loading.step_with(4, 0.033) == pytest.approx(0.2)
    assert "A batch in one loading process: 100 ms (8 batches per step)" in str(verdict)
    engine = replace(loader, engine=EngineFacts(True, "", 0.010))
    change = next(c for c in judge(facts(steps, loader=engine)).changes if c.apply == "accelerate")
    assert change.predicted_s == pytest.approx(0.08 + 0.033 / 8)


def test_workers_that_hand_batches_over_slower_than_the_loop_makes_them_are_no_change():
    loader = sampled([("f", "other", 1e-5, 0.0)], 1e-5, workers=0)
    loader = replace(loader, samples=replace(loader.samples, tensors=2))
    short = {"forward": 1e-4, "backward": 1e-4, "optimizer": 0.0, "zero_grad": 0.0}
    quick = judge(facts([step(data=1e-4, cpu_s=2e-4, **short)] * 20, loader=loader))
    assert not any(change.apply for change in quick.changes)
    assert quick.cause.name != "workers"
    slow = judge(facts([step(data=0.02, cpu_s=2e-4, **short)] * 20, loader=loader))
    more = next(change for change in slow.changes if change.apply.startswith("workers="))
    assert more.predicted_s > 0.0002 + 0.0005


def test_waiting_for_another_loader_is_not_expected_to_end():
    loader = sampled([("read", "read", 0.006, 0.006)], 0.006, 0.006, workers=0)
    steps = [replace(step(data=0.1), other_data_s=0.04) for _ in range(20)]
    verdict = judge(facts(steps, loader=loader))
    assert verdict.loading.batch_s == pytest.approx(0.06)
    assert all(change.predicted_s > 0.07 for change in verdict.changes if change.apply)
    assert any("waiting for another loader takes 30 % of the step" in n for n in verdict.notes)


def test_a_bound_comes_before_a_predicted_step_only_if_it_is_clearly_shorter():
    predicted, near = Change("workers", "", 0.060), Change("read faster", "", 0.058, at_best=True)
    far, unknown = Change("no copies", "", 0.050, at_best=True), Change("tune", "", None)
    found = sort_changes([unknown, near, far, predicted])
    assert found == [far, predicted, near, unknown]


def test_the_engines_own_rate_predicts_the_step():
    """The engine needs all eight CPUs for a batch, and training needs one CPU for 33 ms."""
    loader = sampled([("PIL", "decode", 0.1, 0.0)], 0.1)
    steps = [step(data=0.467)] * 20
    for batch_s, predicted in ((0.010, 0.033), (0.050, 0.050 + 0.033 / 8)):
        one = facts(steps, loader=replace(loader, engine=EngineFacts(True, "", batch_s)))
        change = next(one for one in judge(one).changes if one.apply == "accelerate")
        assert change.predicted_s == pytest.approx(predicted)
    one = facts(steps, loader=replace(loader, engine=EngineFacts(False, "kept")))
    assert not any(one.apply == "accelerate" for one in judge(one).changes)


def test_a_host_that_polls_the_gpu_does_not_count_as_cpu_use():
    """The host polls for 44 ms with cached batches and launches for 4 ms while waiting for data."""
    launching = dict.fromkeys(COMPUTE, 0.001)
    gpu = {"data": 0.370, "forward": 0.040, "backward": 0.004}
    measured = step(gpu=gpu, cpu_s=0.410, data=0.400, **launching)
    cached = step("cached", gpu={**gpu, "data": 0.0}, cpu_s=0.044, forward=0.044)
    loader = sampled([("PIL", "decode", 0.040, 0.0)], 0.040, workers=0)
    loader = replace(loader, engine=EngineFacts(True, "", 0.043))
    verdict = judge(facts([measured] * 20 + [cached] * 12, loader=loader, cpus=2))
    change = next(one for one in verdict.changes if one.apply == "accelerate")
    assert change.predicted_s == pytest.approx(0.043 + 0.004 / 2)


def test_the_prediction_reserves_cpu_time_for_training():
    """A batch takes 100 ms of CPU time and training takes 33 ms, on two CPUs."""
    loader = sampled([("PIL", "decode", 0.010, 0.0)], 0.010, workers=1)
    verdict = judge(facts([step(data=0.067)] * 20, loader=loader, cpus=2))
    change = next(one for one in verdict.changes if one.apply.startswith("workers="))
    assert change.predicted_s == pytest.approx((0.100 + 0.033) / 2)


def test_a_loader_of_tundish_is_judged_by_its_own_statistics():
    stats = {"data/read_busy": 0.9, "data/decode_busy": 0.1, "data/threads": 2}
    loader = LoaderFacts("tundish", "Loader", stats=stats)
    verdict = judge(facts([step(data=0.1) for _ in range(20)], loader=loader))
    assert verdict.cause.name == "storage"
    assert verdict.changes[0].how == "tundish.Loader(..., threads=8)"
    loader = replace(loader, auto_threads=True)  # the loader chose its number of threads
    verdict = judge(facts([step(data=0.1) for _ in range(20)], loader=loader))
    assert not any("threads" in one.how for one in verdict.changes)


def test_sampled_lines_divide_the_time_outside_hooks():
    """A quarter is the loop's own `for`, half is a torch loss, and a quarter stays host code."""
    lines = [line("data", 0.1), line("torch", 0.2), line("other", 0.1)]
    lines += [line("data", 0.3, in_other=False), line("backward", 0.3, in_other=False)]
    verdict = judge(facts([step(other=0.008)] * 20, loader=None, lines=lines))
    parts = verdict.figures.parts
    assert parts["data"] == pytest.approx(0.002)
    assert parts["forward"] == pytest.approx(0.010 + 0.004)
    assert parts["other"] == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("steps", "torch", "text"),
    [
        ([], None, "did not import PyTorch"),
        ([], ON_CPU, "fewer than two torch optimizer steps"),
        ([step("warm-up", boundary=True)], ON_CPU, "ended after 1 optimizer step."),
    ],
)
def test_without_steps_there_is_no_verdict(steps, torch, text):
    verdict = judge(facts(steps, torch=torch, phase="warm-up"))
    assert verdict.cause is None
    assert text in verdict.sentence
    assert text in str(verdict)


def test_few_steps_are_judged_with_a_note():
    verdict = judge(facts([step("warm-up", True)] + [step("warm-up")] * 3, phase="warm-up"))
    assert verdict.cause.name == "compute"
    assert any("noisy" in note for note in verdict.notes)


def test_every_verdict_is_json_and_text():
    loader = sampled([("PIL", "decode", 0.01, 0.0)], 0.01)
    for one in (facts([]), facts([step(data=0.1)] * 9), facts([step(data=0.1)] * 9, loader=loader)):
        verdict = judge(one)
        assert json.loads(json.dumps(verdict.as_json(), allow_nan=False))["version"] == 1
        assert verdict.sentence in str(verdict)


@pytest.mark.parametrize(
    ("text", "cpus"), [("max 100000", 8), ("350000 100000", 4), ("1000 100000", 1), ("", 8)]
)
def test_the_quota_of_a_control_group_limits_the_cpus(tmp_path, monkeypatch, text, cpus):
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(usable_cpus, "_QUOTAS", ((str(tmp_path / "cpu.max"),),))
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    assert usable_cpus.usable_cpus() == cpus


class Event:
    """A GPU event that completed at a time in milliseconds."""

    def __init__(self, ms):
        self.ms = ms

    def elapsed_time(self, other):
        return other.ms - self.ms


def test_the_gpus_time_of_each_part_is_the_time_between_its_events():
    marks = [("", Event(0)), ("data", Event(40)), ("other", Event(41)), ("data", Event(50))]
    assert gpu_seconds(marks) == pytest.approx({"data": 0.049, "other": 0.001})


def test_nested_parts_count_once_and_a_step_begins_where_the_last_one_ended():
    ticks, events = itertools.count(), itertools.count()
    ledger = StepLedger(lambda: next(ticks), lambda: Event(next(events)))
    ledger.enter("optimizer")  # an optimizer with a closure: backward runs inside the step
    ledger.enter("backward")
    assert (ledger.part, ledger.is_in("optimizer")) == ("backward", True)
    ledger.leave()
    ledger.leave()
    seconds, marks = ledger.close_step()
    assert {part: s for part, s in seconds.items() if s} == {
        "other": 2,
        "optimizer": 2,
        "backward": 1,
    }
    ledger.enter("data")
    ledger.leave()
    seconds, marks = ledger.close_step()
    assert sum(seconds.values()) == 3
    assert sum(gpu_seconds(marks).values()) == pytest.approx(0.003)


def test_settings_reach_the_script_as_they_are():
    settings = Settings(steps=9, stop=False, least_s=0.5, apply="workers=4", apply_to="a.B")
    assert from_variable(to_variable("/tmp/a=b c", settings)) == ("/tmp/a=b c", settings)


def test_ranks_end_after_the_same_step_whatever_their_clocks_say():
    alone, ranks = Settings().for_ranks(1), Settings().for_ranks(2)
    assert not alone.is_enough(30, 0.1)
    assert alone.is_enough(30, 60.0)
    assert [ranks.is_enough(steps, 1e9) for steps in (29, 30)] == [False, True]
    assert ranks.is_enough(30, 0.0)
    assert [alone.is_too_long(*one) for one in ((299, 59.0), (300, 0.0), (5, 60.0))] == [
        *(False, True, True)
    ]
    assert not ranks.is_too_long(299, 1e9), "all ranks end after the same step"
    assert ranks.most_profiled_s == float("inf")
    assert Settings(steps=7).for_ranks(2).steps == 7


def test_a_framework_loop_is_reported_with_the_frameworks_function(monkeypatch):
    """The user's line is trainer.fit() for all of Lightning's work."""
    library = "/packages"
    monkeypatch.setattr(code_origin, "_LIBRARIES", (library,))
    seen = []
    names = {
        "/packages/tqdm/std.py": "def refresh(seen, look): seen.append(look())",
        "/packages/lightning/progress.py": "def on_end(seen, look): refresh(seen, look)",
        "/packages/lightning/trainer.py": "def fit(seen, look): on_end(seen, look)",
        "/home/train.py": "\nfit(seen, look)",
    }
    scope = {"seen": seen, "look": lambda: _user_line(sys._getframe(1))}
    for file, text in names.items():
        exec(compile(text, file, "exec"), scope)
    place = ("/home/train.py", 2, "fit: on_end in progress.py", "/packages/lightning/trainer.py")
    assert seen == [place]


def test_only_the_for_loop_around_a_step_is_recognized():
    import sys

    sampler = LineSampler()

    def loop():
        for _ in range(1):
            for _ in range(1):
                sampler.note_loop(sys._getframe())
        for _ in range(1):
            pass

    loop()
    assert len(sampler._loops[loop.__code__]) == 2


def test_dataset_rows_are_its_functions_and_modules_with_their_total_time():
    import time

    import torch
    from tundish.diagnosis.probe.loaders.dataset_profile import profile_dataset

    class Flip(torch.nn.Module):
        def forward(self, x):
            len("abc")  # a C function that returns does not end the row
            time.sleep(0.02)
            return x

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 10

        def fetch(self, index):
            len("abc")
            time.sleep(0.02)
            return torch.ones(2)

        def __getitem__(self, index):
            return self.flip(self.fetch(index))

        flip = Flip()

    random = torch.get_rng_state()
    found = profile_dataset(torch.utils.data.DataLoader(Numbers(), 4), 1.0)
    assert torch.equal(torch.get_rng_state(), random)
    rows = {row.name.rpartition(".")[2]: row for row in found.rows}
    assert (rows["fetch"].kind, rows["Flip"].kind) == ("read", "transform")
    for name in ("fetch", "Flip"):
        assert rows[name].s > 0.25 * found.sample_s
        assert rows[name].blocked_s > 0.5 * rows[name].s
