"""`bench optim` on tiny tensors without a GPU: rows, comparisons, bars, and calls to a fake GPU."""

import contextlib
import itertools
import json
import math
import re
import shutil
from pathlib import Path

import pytest
import torch

from bench.common.result_files import read_rows
from bench.common.rows import Rows
from bench.optim import (
    bars,
    contest,
    flat,
    measure,
    others,
    ours,
    reference,
    resnet18,
    resnet18_step,
    timm_,
    torch_fused,
)
from bench.optim.contestant import Contestant, Entry, LeftOut, parameters_of
from bench.optim.jobs import JOBS
from bench.optim.shapes import SETS, tiny
from tests.helpers.bench_runs import KEYS, ROOT
from tests.helpers.torchvision_child import ask_torchvision
from tests.helpers.warm_python import run_warm


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def bench(tmp_path, *words):
    out = tmp_path / "optim.json"
    line = ["-m", "bench.optim.run", "--device", "cpu", "--sets", "tiny", "--seconds", "0.001"]
    line += ["--threads", "1", "--rounds", "2", "--out", out, *words]
    done = run_warm(*line, cwd=ROOT)
    return read_rows(out), done.stdout


def test_a_run_gives_rows_of_every_contestant_and_optimizer(tmp_path):
    rows, shown = bench(tmp_path)
    assert {row["optimizer"] for row in rows} == set(JOBS)
    for row in rows:
        assert set(row) >= KEYS | {"set", "tensors", "elements", "device", "threads"}
        assert row["command"].startswith("./dev bench optim")
        assert (row["value"] is None) == (row["runs"] == 0) == ("reason" in row)
    timed = {(row["contestant"], row["optimizer"]) for row in rows if row["metric"] == "step"}
    wanted = {(entry.name, job) for entry in contest.ENTRIES for job in entry.jobs}
    assert timed == wanted
    reasons = {row["optimizer"] for row in rows if "reason" in row}
    assert reasons <= {"muon"}
    step = next(row for row in rows if row["contestant"] == "timm")
    assert step["runs"] == 2
    assert step["steps_per_turn"] >= 2
    assert step["error"] < JOBS[step["optimizer"]].tolerance
    assert "timm" in step["versions"]
    assert "x ours" in shown


def test_copied_timm_optimizers_work_and_a_missing_timm_is_noted(tmp_path):
    found = timm_.find()
    folder = tmp_path / "copy"
    shutil.copytree(found / "optim", folder / "timm" / "optim")
    shutil.copy(found / "version.py", folder / "timm")
    rows, _ = bench(tmp_path, "--optimizers", "lars", "--timm", folder)
    assert any(row["contestant"] == "timm" and row["value"] for row in rows)
    assert rows[0]["versions"]["timm"] == timm_.version()
    rows, shown = bench(tmp_path, "--optimizers", "lars", "--timm", tmp_path / "nothing")
    (row,) = [row for row in rows if row["contestant"] == "timm"]
    assert row["reason"] == "the folder of --timm holds no timm/optim"
    assert "timm: no time: the folder of --timm holds no timm/optim" in shown


def test_the_shapes_match_torchvision():
    code = (
        "import json, torchvision.models as m\n"
        "print(json.dumps([[list(p.shape) for p in getattr(m, n)(weights=None).parameters()]"
        " for n in sys.argv[1:]]))"
    )
    theirs = json.loads(ask_torchvision(code, "resnet50", "vit_b_16"))
    for shapes, name in zip(theirs, ("resnet50", "vit_b"), strict=True):
        assert [list(shape) for shape in SETS[name]().shapes] == shapes
    counts = {name: (len(make().shapes), make().elements) for name, make in SETS.items()}
    assert counts["resnet50"] == (161, 25_557_032)
    assert counts["vit_b"] == (152, 86_567_656)
    assert counts["small500"] == (500, 2_048_000)
    assert len(SETS["vit_b"]().matrices) == 48


def off_by(step, parameters, share):
    """Returns a step that then moves the weights by an additional `share` of their change."""

    def wrong_step():
        before = [p.detach().clone() for p in parameters]
        step()
        with torch.no_grad():
            for old, p in zip(before, parameters, strict=True):
                p += share * (p - old)

    return wrong_step


def test_wrong_weights_and_failures_get_a_reason_but_no_time(monkeypatch):
    def wrong(job, parameters, graph):
        step = ours.make(job, parameters, graph).step
        return Contestant(parameters, off_by(step, parameters, 1e-3))

    def broken(job, parameters, graph):
        raise RuntimeError("no such kernel\nand more")

    def absent(job, parameters, graph):
        raise LeftOut("not here")

    entries = [
        Entry("right", ("sgd",), ours.make),
        Entry("wrong", ("sgd",), wrong),
        Entry("broken", ("sgd",), broken),
        Entry("absent", ("sgd",), absent),
        Entry("other", ("lamb",), ours.make),
    ]
    monkeypatch.setattr(contest, "ENTRIES", entries)
    monkeypatch.setattr(contest, "CPU_SECONDS", 0.0)
    result = contest.run("tiny", tiny(), "sgd", "cpu", 2, None)
    assert set(result.times) == {"right"}
    assert len(result.values("right", "host, fresh")) == 2
    assert result.reasons["wrong"].startswith("other weights than the reference: off by 1.0e-03")
    assert result.reasons["broken"] == "RuntimeError: no such kernel"
    assert result.reasons["absent"] == "not here"
    assert result.failed == {"wrong", "broken"}
    assert result.errors["right"] < 1e-5


def test_the_reference_is_torchs_in_fp64():
    torch.manual_seed(0)
    weights = [torch.randn(shape) for shape in tiny().shapes]
    steps = [[torch.randn_like(w) for w in weights] for _ in range(3)]
    for name, kind in (("sgd", torch.optim.SGD), ("adamw", torch.optim.AdamW)):
        parameters = [torch.nn.Parameter(w.double()) for w in weights]
        optimizer = kind(parameters, **JOBS[name].arguments)
        for gradients in steps:
            for p, g in zip(parameters, gradients, strict=True):
                p.grad = g.double()
            optimizer.step()
        for right, found in zip(parameters, reference.run(JOBS[name], weights, steps)):
            torch.testing.assert_close(found, right.detach().float(), rtol=1e-7, atol=1e-9)


def result_of(job="adamw", name="resnet50", **times):
    result = contest.Result(name, job, 161, 1000)
    result.copy = [2e9, 2e9]
    result.times = {who: {key: [v, v] for key, v in one.items()} for who, one in times.items()}
    return result


def test_bars_are_met_or_not_met_or_not_measured():
    # 28 bytes for each of 1,000 elements at 2 GB/s: 14 us.
    fast = result_of(**{ours.NAME: {"graph": 14e-6 / 0.76}})
    assert math.isclose(bars.copy_shares(fast, ours.NAME)[0], 0.76)
    (line,) = bars.bar_lines([fast], "cuda")
    assert line.endswith("adamw, resnet50: at least 75 %; figure 76.0 %, met")
    slow = result_of(**{ours.NAME: {"graph": 14e-6 / 0.74}})
    assert bars.bar_lines([slow], "cuda")[0].endswith("figure 74.0 %, not met")
    assert bars.bar_lines([result_of()], "cuda")[0].endswith("not measured")

    host = result_of(name="small500", **{ours.NAME: {"host": 2.1e-4}, flat.NAME: {"host": 4e-5}})
    lines = bars.bar_lines([host], "cuda")
    assert [line.rpartition("; ")[2] for line in lines] == [
        "figure 40.0 us, met",
        "figure 210.0 us, not met",
        "not measured",
    ]

    cpu = result_of(**{ours.NAME: {"host": 2.0}, torch_fused.NAME: {"host": 2.2}})
    (line,) = bars.bar_lines([cpu], "cpu")
    assert line == (
        "bar: time of torch's fused kernels over ours, adamw, resnet50: at least 1 x; figure 1.10 x, met"
    )


@pytest.mark.parametrize(
    ("shares", "kept", "noisy"),
    [
        ([0.0, 0.3, 0.01, 0.02], [0.01, 0.02], 1),
        ([0.3] * 100, [], contest.TRIES * 3),
        ([0.0, 0.01] + [0.3] * 100, [0.01], contest.TRIES * 3 - 2),
    ],
)
def test_rounds_in_which_others_use_the_cpus_do_not_count(monkeypatch, shares, kept, noisy):
    left = iter(shares)
    monkeypatch.setattr(contest.Others, "share", lambda self: next(left))
    monkeypatch.setattr(contest, "CPU_SECONDS", 0.0)
    monkeypatch.setattr(contest, "ENTRIES", [Entry("one", ("sgd",), ours.make)])
    result = contest.run("tiny", tiny(), "sgd", "cpu", 2, None, 0.05)
    assert (result.others, result.noisy) == (kept, noisy)
    assert len(result.values("one", "host")) == len(kept)
    assert ("one" in result.reasons) is (not kept)


def test_the_total_cpu_time_is_read_from_proc_stat(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    text = "cpu  100 200 300 9999 9999 10 20 30 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
    assert others.busy_seconds(text) == 6.6


class Fake:
    """Replaces torch.cuda; replay() runs the captured calls again."""

    def __init__(self):
        self.calls = []
        self.capturing = None

    def Stream(self):
        return self

    def wait_stream(self, _):
        self.calls.append("wait")

    current_stream = Stream

    def stream(self, _):
        return contextlib.nullcontext()

    def synchronize(self):
        self.calls.append("synchronize")

    def CUDAGraph(self):
        return FakeGraph(self)

    @contextlib.contextmanager
    def graph(self, graph, stream):
        self.capturing = graph
        yield
        self.capturing = None

    def Event(self, enable_timing):
        assert enable_timing
        return self

    def record(self):
        self.calls.append("record")

    def elapsed_time(self, _):
        return 5.0  # 5.0 is in milliseconds


class FakeGraph:
    def __init__(self, fake):
        self.fake, self.acts = fake, []

    def replay(self):
        self.fake.calls.append("replay")
        for act in self.acts:
            act()


@pytest.fixture
def fake(monkeypatch):
    made = Fake()
    monkeypatch.setattr(torch, "cuda", made)
    return made


def test_a_graph_has_one_step_after_the_warm_up_and_is_timed_by_replays(fake):
    (parameter,) = parameters_of([torch.ones(3)])
    counts = {"warm up": 0, "captured": 0}

    def move():
        with torch.no_grad():
            parameter.add_(1)

    def step():
        counts["captured" if fake.capturing else "warm up"] += 1
        if fake.capturing:
            fake.capturing.acts.append(move)

    graph = measure.capture(Contestant([parameter], step), [torch.ones(3)])
    assert counts == {"warm up": measure.WARM_UP, "captured": 1}
    fake.calls.clear()
    assert measure.time_graph(graph) == 5e-3 / measure.REPLAYS
    begin, end = (i for i, call in enumerate(fake.calls) if call == "record")
    assert fake.calls[begin + 1 : end] == measure.REPLAYS * ["replay"]

    with pytest.raises(RuntimeError, match="changes nothing"):
        measure.capture(Contestant([parameter], lambda: None), [torch.ones(3)])


@pytest.mark.parametrize(("share", "kept"), [(0.0, True), (1e-2, False)])
def test_a_graph_whose_replay_gives_wrong_weights_is_not_timed(fake, monkeypatch, share, kept):
    """The capture runs the right step; the replay runs a wrong one."""

    def make(job, parameters, graph):
        right = ours.make(job, parameters, False).step
        wrong = off_by(right, parameters, share)

        def step():
            if fake.capturing:
                fake.capturing.acts.append(wrong)
            else:
                right()

        return Contestant(parameters, step)

    judged = contest.Contest("tiny", tiny(), "sgd", "cpu")
    judged.device = "cuda"
    player = judged.player(Entry("one", ("sgd",), make), judged.job.for_timing())
    assert (player.graph is not None) is kept
    assert ("one" in judged.result.graph_reasons) is not kept
    assert judged.result.failed == (set() if kept else {"one"})


def test_gpu_steps_report_a_host_time_and_a_gpu_time(fake):
    (parameter,) = parameters_of([torch.ones(3)])
    seen = []
    contestant = Contestant([parameter], lambda: seen.append(parameter.grad))
    gradients = [[torch.ones(3)], [torch.zeros(3)]]
    taken = measure.time_steps(contestant, gradients, True, 4, "cuda")
    assert taken["eager"] == 5e-3
    assert taken["host"] != taken["eager"]
    assert all(a is not b for a, b in itertools.pairwise(seen))  # new tensors in every step
    seen.clear()
    measure.time_steps(contestant, gradients, False, 4, "cuda")
    assert all(one is gradients[0][0] for one in seen)


def test_a_copy_reads_and_writes_its_bytes(fake):
    # 10 copies in 5 ms; the first copy is not timed.
    assert measure.Copy(2, "cpu").bytes_per_s() == pytest.approx(10 * 2 * 2**21 / 5e-3)
    assert fake.calls.count("record") == 2


def test_only_fresh_gradients_are_gathered_while_the_clock_runs(fake):
    (parameter,) = parameters_of([torch.ones(3)])
    contestant = Contestant([parameter], lambda: fake.calls.append("step"))
    contestant.gather = lambda: fake.calls.append("gather")
    gradients = [[torch.ones(3)], [torch.zeros(3)]]
    for fresh, wanted in ((True, ["gather", "step"]), (False, ["step"])):
        measure.time_steps(contestant, gradients, fresh, 1, "cuda")
        begin, end = (i for i, call in enumerate(fake.calls) if call == "record")
        assert fake.calls[begin + 1 : end] == wanted
        fake.calls.clear()


def test_the_bundle_for_a_gpu_has_the_benchmarks_that_run_there():
    used = re.findall(r'"bench\.(\w+)\.', Path(ROOT, "tests", "gpu", "run.py").read_text())
    copied = re.findall(r"bench/(\w+)", Path(ROOT, "tools", "dev", "gpu.sh").read_text())
    assert "optim" in used
    assert set(used) <= set(copied)


def test_a_resnet18_training_step_is_benchmarked(tmp_path, monkeypatch):
    assert resnet18.count_parameters(resnet18.resnet18()) == (62, 11_689_512)  # torchvision's
    monkeypatch.setattr(resnet18_step, "SECONDS", 0.01)
    rows = Rows("optim")
    line = resnet18_step.race("eager", 2, 32, 2, "cpu", rows)
    assert re.match(
        r"ResNet-18, batch 2, eager: tundish .* ms, torch, fused .*; bar: not slower", line
    )
    rows.write(tmp_path / "rows.json")
    first, second, ratio = read_rows(tmp_path / "rows.json")
    assert (first["contestant"], second["contestant"]) == ("tundish", "torch, fused")
    assert {row["metric"] for row in (first, second)} == {"training step, eager"}
    assert ratio["low"] <= ratio["value"] <= ratio["high"]
    assert ratio["runs"] == 2
