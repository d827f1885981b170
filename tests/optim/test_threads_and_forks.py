"""Optimizers in several threads, and after a fork.

Tensors are large enough for the engine's own threads.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
import torch
from torch import nn
from tundish import optim
from tundish._c.structs import OptimizerTensor
from tundish.optim._binding.engine_calls import NativeOptimizer

from .every import EVERY, make

COUNT = 100_000  # elements; up to 65,536 elements the calling thread works alone


@pytest.fixture
def two_threads(one_thread: None) -> None:
    """Gives each engine two threads; the fixture in conftest.py restores torch's number."""
    torch.set_num_threads(2)


def parameter(seed: int) -> Any:
    out = nn.Parameter(torch.randn(COUNT, generator=torch.Generator().manual_seed(seed)))
    out.grad = torch.randn(COUNT, generator=torch.Generator().manual_seed(seed + 100))
    return out


def in_threads(*functions: Any) -> None:
    errors: list[BaseException] = []

    def guarded(function: Any) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("name", EVERY)
def test_two_optimizers_step_at_once(name: str, two_threads: None) -> None:
    def steps(optimizer: Any) -> None:
        for _ in range(20):
            optimizer.step()

    alone = [parameter(seed) for seed in (0, 1)]
    for one in alone:
        steps(make(name, [one], max_norm=1.0))
    together = [parameter(seed) for seed in (0, 1)]
    optimizers = [make(name, [one], max_norm=1.0) for one in together]
    in_threads(*(lambda o=one: steps(o) for one in optimizers))
    assert all(map(torch.equal, alone, together))


@pytest.mark.parametrize("name", ["SGD", "LAMB"])
def test_one_optimizer_steps_in_two_threads(name: str, two_threads: None) -> None:
    """The two threads take turns; the gradients are constant, so the order does not matter."""
    alone, shared = parameter(0), parameter(0)
    optimizer, other = make(name, [shared]), make(name, [alone])

    def steps() -> None:
        for _ in range(50):
            optimizer.step()

    in_threads(steps, steps)
    for _ in range(100):
        other.step()
    assert torch.equal(alone, shared)


def test_steps_of_one_optimizer_wait_for_each_other() -> None:
    """A step waits while another step is in the engine."""
    one = parameter(0)
    optimizer = optim.SGD([one], lr=0.1)
    optimizer.step()
    inside, most = [0], [0]
    call = optimizer._call

    def counted(engine: Any) -> bool:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        started.set()
        go_on.wait(0.2)
        inside[0] -= 1
        return bool(call(engine))

    started, go_on = threading.Event(), threading.Event()
    optimizer._call = counted
    in_threads(optimizer.step, optimizer.step)
    assert started.is_set()
    assert most[0] == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
@pytest.mark.parametrize("name", EVERY)
def test_a_forked_process_continues_training(name: str, two_threads: None, tmp_path: Any) -> None:
    one = parameter(0)
    optimizer = make(name, [one], max_norm=1.0)
    optimizer.step()
    torch.set_num_threads(1)  # torch's own threads do not survive a fork
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            for _ in range(3):
                optimizer.step()
            torch.save(one.detach(), tmp_path / "child.pt")
            os._exit(0)
        finally:
            os._exit(1)
    for _ in range(3):
        optimizer.step()
    assert os.waitpid(child, 0)[1] == 0
    assert torch.equal(torch.load(tmp_path / "child.pt"), one.detach())


def test_counts_over_32_bits_reach_the_engine() -> None:
    """The huge tensor has no gradient: it is split into chunks but never read."""
    memory = torch.zeros(4)
    huge = OptimizerTensor(parameter=memory.data_ptr(), count=(1 << 32) + 5, copy_type=1)
    gradient = torch.ones(4)
    small = OptimizerTensor(
        parameter=memory.data_ptr(), gradient=gradient.data_ptr(), count=4, copy_type=1
    )
    engine = NativeOptimizer("sgd", -1, 1)
    engine.bind([huge, small], 1)
    engine.groups[0].lr = 0.5
    engine.groups[0].step = 1
    assert engine.step(None, None, None)
    assert torch.equal(memory, torch.full((4,), -0.5))
    assert OptimizerTensor(count=1 << 40).count == 1 << 40
