"""Trials in separate processes: their answers, their failures, and the cleanup."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import tundish
from torch import nn
from tundish.tuning.batch_structure import nudged
from tundish.tuning.job import Job, JobSource, as_job, list_batches, pickled_source, source_of
from tundish.tuning.trials.pool import TrialPool
from tundish.tuning.trials.trial import TrialFailed, TrialProcess
from tundish.tuning.tricks import Trick
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.cuda_graph import CudaGraph

from tests.helpers.warm_python import WarmPopen

from . import jobs


@pytest.fixture
def process() -> Iterator[TrialProcess]:
    made = TrialProcess()
    yield made
    before = made._process.pid
    made.end()
    assert before not in children()


@pytest.fixture(scope="module")
def shared() -> Iterator[TrialProcess]:
    """A child that runs one job after the other, because starting a child takes seconds."""
    made = TrialProcess()
    yield made
    made.end()


def children() -> list[int]:
    """Returns the running child processes of this process."""
    found = WarmPopen.still_running()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if int(parent) == os.getpid() and b"tundish.tuning.trials.trial_process" in words:
                found.append(int(entry.name))
    return found


def prepared(
    process: TrialProcess, build: Any, timeout_s: float = 60.0, tricks: Sequence[Trick] = ()
) -> Any:
    process.prepare(source_of(build), tricks, 0, 4, timeout_s)
    return process.receive()


def test_a_trial_trains_and_is_timed(process: TrialProcess) -> None:
    found = prepared(process, jobs.cnn)
    torch.manual_seed(0)
    model, optimizer, loss_fn, (inputs, targets) = jobs.cnn()
    assert len(found["losses"]) == 4
    for loss in found["losses"]:
        optimizer.zero_grad()
        own = loss_fn(model(inputs), targets)
        own.backward()
        optimizer.step()
        assert loss == pytest.approx(float(own.detach()), rel=1e-5)
    turn = process.ask("turn", steps=3)
    assert turn["ms"] > 0
    assert process.ask("memory")["peak"] > 1 << 20


@pytest.mark.parametrize("build", [jobs.as_dict, jobs.own_loss, jobs.mlp])
def test_jobs_may_be_returned_in_several_forms(shared: TrialProcess, build: Any) -> None:
    assert len(prepared(shared, build)["losses"]) == 4


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (jobs.three_things, "returned a tuple of 3, not model, optimizer, loss_fn, batch"),
        (jobs.wrong_device, "batch 0 is on cpu, the model on meta"),
        (jobs.other_optimizer, "the optimizer trains none of the model's parameters"),
        (jobs.frozen, "no parameter of the model requires a gradient"),
    ],
)
def test_a_wrong_job_is_named(shared: TrialProcess, build: Any, text: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=text):
        prepared(shared, build)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (jobs.forward_fails, "mat1 and mat2 shapes cannot be multiplied"),
        (jobs.loss_without_gradient, "does not require grad"),
        (jobs.build_raises, "the dataset is not there"),
    ],
)
def test_a_failing_step_is_reported_with_its_reason(
    shared: TrialProcess, build: Any, text: str
) -> None:
    with pytest.raises(TrialFailed, match=text) as caught:
        prepared(shared, build)
    assert caught.value.kind == "error"
    assert "Traceback" in caught.value.details


def test_a_process_that_dies_is_reported(process: TrialProcess) -> None:
    with pytest.raises(TrialFailed, match="SIGABRT") as caught:
        prepared(process, jobs.dies)
    assert caught.value.kind == "died"


def test_a_process_that_hangs_is_ended(process: TrialProcess) -> None:
    with pytest.raises(TrialFailed, match="did not answer in time") as caught:
        prepared(process, jobs.hangs, timeout_s=8)
    assert caught.value.kind == "hang"
    assert process._process.pid not in children()


@pytest.mark.usefixtures("warm_trials")
def test_an_obstacle_is_not_a_failure() -> None:
    process = TrialProcess()
    try:
        found = prepared(process, jobs.mlp, tricks=[CudaGraph()])
        assert found == {"obstacle": "CUDA graph of the step: needs a GPU"}
    finally:
        process.end()


def test_a_child_ends_with_its_parent() -> None:
    """After SIGKILL to the parent, no child process remains."""
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        process = TrialProcess()
        prepared(process, jobs.mlp)
        os.write(writer, str(process._process.pid).encode())
        time.sleep(600)
        os._exit(0)
    os.close(writer)
    child = int(os.read(reader, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    for _ in range(600):
        if not os.path.exists(f"/proc/{child}") or _is_zombie(child):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child is still there")
    os.close(reader)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_objects_are_pickled_and_unchanged(tmp_path: Path, process: TrialProcess) -> None:
    model = jobs.Plain()
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(4, 8), torch.randint(0, 2, (4,))
    before = [p.detach().clone() for p in model.parameters()]
    job = as_job((model, optimizer, nn.CrossEntropyLoss(), batch), "here")
    source = pickled_source(job, str(tmp_path / "job.pt"))
    process.prepare(JobSource(pickle=source.pickle), [], 0, 3, 60)
    losses = process.receive()["losses"]
    assert losses[2] < losses[0]  # the optimizer's parameters are the model's in the child as well
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    assert not optimizer.state


def test_what_cannot_be_pickled_is_named(tmp_path: Path) -> None:
    model = jobs.Plain()
    job = Job(
        model, torch.optim.SGD(model.parameters(), 0.1), lambda x: x.sum(), [torch.ones(2, 8)]
    )
    with pytest.raises(
        tundish.ArgumentError, match=r"cannot be pickled[^\n]*\n  fix: pass a function"
    ):
        pickled_source(job, str(tmp_path / "job.pt"))


@pytest.mark.parametrize(
    ("build", "text"),
    [
        ("train.py", "is not FILE:FUNCTION"),
        ("nowhere.py:build", "no such file"),
        (lambda: None, "a lambda"),
    ],
)
def test_an_invalid_source_is_refused(build: Any, text: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=text):
        source_of(build)


def test_batches_may_have_any_supported_form() -> None:
    tensor = torch.ones(2)
    assert len(list_batches(tensor, "")) == 1
    assert len(list_batches((tensor, tensor), "")) == 1
    assert len(list_batches([tensor, tensor], "")) == 1
    assert len(list_batches([(tensor, tensor)] * 3, "")) == 3
    assert len(list_batches(iter([(tensor, tensor)] * 30), "")) == 8
    for nothing in ([], [("a", "b")], 7):
        with pytest.raises(tundish.ArgumentError):
            list_batches(nothing, "build()")


@pytest.mark.usefixtures("warm_trials")
def test_a_pool_times_in_rounds_and_omits_failing_trials(tmp_path: Path) -> None:
    pool = TrialPool(source_of(jobs.cnn), str(tmp_path), seed=0, steps=4, prepare_s=60)
    pool.most_preparing = 4
    try:
        pool.start("plain", ())
        pool.start("layout", [ChannelsLast()])
        pool.start("graph", [CudaGraph()])
        turns = pool.measure(["plain", "layout", "graph"], rounds=3)
        assert {name: len(found) for name, found in turns.items()} == {"plain": 3, "layout": 3}
        assert pool.outcome("graph").kind == "obstacle"
        assert pool.outcome("plain").losses == pytest.approx(
            pool.outcome("layout").losses, rel=1e-4
        )
        pool.end("plain")
        assert pool.alive() == ["layout"]
    finally:
        own = [entry.process._process.pid for entry in pool._entries.values() if entry.process]
        pool.close()
    assert own
    assert not set(own) & set(children())


@pytest.mark.usefixtures("warm_trials")
def test_a_spare_process_is_used_and_ended(tmp_path: Path) -> None:
    pool = TrialPool(source_of(jobs.cnn), str(tmp_path), seed=0, steps=2, prepare_s=60)
    try:
        pool._spare += [TrialProcess(), TrialProcess()]
        first, second = (one._process.pid for one in pool._spare)
        pool.start("plain", ())
        assert not pool.outcome("plain").failed
        process = pool._entries["plain"].process
        assert process is not None
        assert process._process.pid == second
    finally:
        pool.close()
    assert not {first, second} & set(children())


def test_inputs_are_nudged_alike_whatever_the_default_device_and_dtype_are() -> None:
    batch = (torch.linspace(-1, 1, 12), torch.arange(3))
    expected = nudged(batch, 1)
    before = torch.get_default_dtype()
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float64)
    try:
        found = nudged(batch, 1)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(before)
    assert torch.equal(found[0], expected[0])
    assert not torch.equal(found[0], batch[0])
