"""Batches copied ahead of the loop: order, errors, endings. The device only counts its calls."""

import contextlib
import gc
import os
import sys
import threading
import time
import weakref
from collections import defaultdict, namedtuple
from subprocess import run
from types import MappingProxyType

import pytest
import torch
import tundish
from torch.utils.data import DataLoader
from tundish.dropin import torch_loader as kept
from tundish.dropin.device_copies import (
    GpuCopier,
    PrefetchedCopies,
    SynchronousCopies,
    change_tensors,
)

from tests.helpers.torch_sets import OwnSet

Point = namedtuple("Point", "x y")


class Counted:
    """A device that counts the batches it sends and receives."""

    def __init__(self, device=None):
        self.sent = self.received = 0

    def send(self, batch):
        self.sent += 1
        return batch

    def receive(self, batch):
        self.received += 1
        return batch


def copying_threads():
    return [one for one in threading.enumerate() if one.name == "tundish-copies"]


@pytest.mark.parametrize("way", [PrefetchedCopies, SynchronousCopies])
def test_batches_arrive_in_order_and_the_end_repeats(way):
    copies = Counted()
    batches = way(iter(range(50)), copies)
    assert [next(batches) for _ in range(50)] == list(range(50))
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(batches)
    assert (copies.sent, copies.received) == (50, 50)
    assert not copying_threads()


def test_few_batches_are_ahead_of_the_loop():
    copies = Counted()
    batches = PrefetchedCopies(iter(range(50)), copies)
    for number in range(10):
        next(batches)
        assert copies.sent <= number + 1 + 4
    batches.ending()
    assert not copying_threads()


def test_a_data_error_is_raised_in_order():
    def broken():
        yield 1
        raise OSError("the disk")

    batches = PrefetchedCopies(broken(), Counted())
    assert next(batches) == 1
    with pytest.raises(OSError, match="the disk"):
        next(batches)
    assert not copying_threads()


def test_leaving_the_loop_ends_the_thread():
    batches = PrefetchedCopies(iter(range(50)), Counted())
    next(batches)
    (thread,) = copying_threads()
    del batches
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_kept_loader_copies_its_batches(monkeypatch, workers):
    monkeypatch.setattr(kept, "GpuCopier", Counted)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    options = {"num_workers": workers, "persistent_workers": workers > 0}
    loader = tundish.accelerate(DataLoader(OwnSet(), 4, **options), device="cuda")
    iterator = iter(loader)
    next(iterator)  # early exit: torch reuses the iterator of persistent workers
    for _ in range(2):
        assert [index.tolist()[0] for _, index in loader] == [0, 4, 8, 12, 16, 20]
    assert ("ahead of the loop" in str(loader.report)) == (workers > 0)
    assert loader.stats()["data/batches"] == 13


@pytest.mark.parametrize("workers", [0, 1])
def test_iterations_of_a_kept_loader_are_independent_as_in_torch(monkeypatch, workers):
    monkeypatch.setattr(kept, "GpuCopier", Counted)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    loader = tundish.accelerate(DataLoader(OwnSet(), 4, num_workers=workers), device="cuda")
    pairs = [(a[1].tolist(), b[1].tolist()) for a, b in zip(loader, loader, strict=True)]
    assert len(pairs) == 6
    assert all(one == other for one, other in pairs)
    assert len(iter(loader)) == 6
    loader.close()
    assert not copying_threads()


@pytest.mark.parametrize("newer", [True, False])
def test_an_ended_iteration_raises_an_error_instead_of_waiting(monkeypatch, newer):
    monkeypatch.setattr(kept, "GpuCopier", Counted)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    options = {"num_workers": 1, "persistent_workers": newer}
    loader = tundish.accelerate(DataLoader(OwnSet(), 4, **options), device="cuda")
    first, second = iter(loader), None
    next(first)
    if newer:
        second = iter(loader)
    else:
        loader.close()
    with pytest.raises(RuntimeError, match="ended this iteration"):
        list(first)
    assert second is None or len(list(second)) == 6


def test_a_loop_that_waits_gets_an_error_when_its_iteration_ends():
    begun, go = threading.Event(), threading.Event()

    def slow():
        begun.set()
        go.wait(60)
        yield 1

    batches = PrefetchedCopies(slow(), Counted())
    begun.wait(60)
    results = []

    def loop():
        try:
            results.append(next(batches))
        except RuntimeError as error:
            results.append(str(error))

    waiting = threading.Thread(target=loop)
    waiting.start()
    ending = threading.Thread(target=batches.ending)
    ending.start()
    go.set()
    waiting.join(60)
    ending.join(60)
    assert len(results) == 1
    assert results[0] == 1 or "ended this iteration" in results[0]
    assert not copying_threads()


def test_every_tensor_of_a_batch_is_found():
    batch = {"a": [torch.ones(2), "text"], "b": Point(torch.zeros(1), (3, torch.ones(1)))}
    moved = change_tensors(batch, lambda tensor: tensor + 1)
    assert moved["a"][0].tolist() == [2, 2]
    assert moved["a"][1] == "text"
    assert type(moved["b"]) is Point
    assert moved["b"].x.tolist() == [1]
    assert moved["b"].y[0] == 3
    assert moved["b"].y[1].tolist() == [2]


class Named(list):
    def __init__(self, name, items):
        super().__init__(items)
        self.name = name


class Pair(tuple):
    def __new__(cls, one, other):
        return super().__new__(cls, (one, other))


def test_containers_with_their_own_constructor_are_moved():
    def move(batch):
        return change_tensors(batch, lambda tensor: tensor + 1)

    counted = defaultdict(list, x=torch.zeros(1))
    moved = move(counted)
    assert moved["x"] == 1
    assert moved["y"] == []
    assert counted["x"] == 0, "the loader's batch is unchanged"
    named = move(Named("a", [torch.zeros(1)]))
    assert type(named) is Named
    assert (named.name, named[0]) == ("a", 1)
    assert move(Pair(torch.zeros(1), 2)) == (1, 2)
    assert move(MappingProxyType({"x": torch.zeros(1)})) == {"x": 1}


def test_a_missing_device_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(tundish.Error, match="TND-509"):
        tundish.accelerate(DataLoader(OwnSet(), 4), device="cuda")
    assert tundish.accelerate(DataLoader(OwnSet(), 4), device="cpu").stats()["data/batches"] == 0


class FakeCuda:
    """Records the operations of a copy in order."""

    def __init__(self, monkeypatch):
        self.calls = calls = []

        class Stream:
            def __init__(self, device=None):
                self.name = "copies"

            def wait_event(self, event):
                calls.append(f"{self.name} waits for {event.recorded_on}")

        class Event:
            def record(self, stream):
                self.recorded_on = stream.name
                calls.append(f"event on {stream.name}")

        loop = Stream()
        loop.name = "loop"
        nothing = contextlib.nullcontext()
        for name, value in {"Stream": Stream, "Event": Event}.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: loop)
        monkeypatch.setattr(torch.cuda, "device", lambda device: nothing)
        monkeypatch.setattr(torch.cuda, "stream", lambda stream: nothing)
        pin, record = self.pin, self.record
        monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pin(tensor))
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda _, stream: record(stream))

    def pin(self, tensor):
        self.calls.append("page-locked")
        return tensor

    def record(self, stream):
        self.calls.append(f"memory is of {stream.name} too")


def test_the_loops_stream_waits_for_the_copy_and_owns_the_memory(monkeypatch):
    cuda = FakeCuda(monkeypatch)
    copies = GpuCopier("cpu")
    batch = [torch.ones(2), {"x": torch.zeros(1), "name": ["a"]}]
    sent = copies.send(batch)
    assert cuda.calls == ["page-locked", "page-locked", "event on copies"]
    cuda.calls.clear()
    moved = copies.receive(sent)
    assert cuda.calls == ["loop waits for copies", *["memory is of loop too"] * 2]
    assert moved[1]["name"] == ["a"]
    assert torch.equal(moved[0], batch[0])


def test_custom_containers_of_tensors_are_moved_by_the_loop(monkeypatch):
    cuda = FakeCuda(monkeypatch)
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3)])
    copies = GpuCopier("cpu")
    moved = copies.receive(copies.send([packed]))
    assert cuda.calls == ["event on copies", "loop waits for copies"]
    assert torch.equal(moved[0].data, packed.data)


class Garbage:
    """A reference cycle with a GPU tensor, which only the garbage collector frees."""

    def __init__(self, file):
        self.me, self.file, self.process = self, file, os.getpid()

    def __del__(self):
        if os.getpid() != self.process:
            self.file.write_text("freed in a forked process")


def test_garbage_is_not_freed_in_a_forked_process(tmp_path):
    script = f"""
import gc, os, sys
sys.path.insert(0, {os.getcwd()!r})
from pathlib import Path
from tests.dropin.test_device_copies import Garbage
from tundish.dropin.forked_workers import freeze_garbage_in_children
if sys.argv[1] == "kept":
    freeze_garbage_in_children()
    freeze_garbage_in_children()
gc.disable()
Garbage(Path(sys.argv[2]))
child = os.fork()
if child == 0:
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
"""
    found = {}
    for case in ("kept", "plain"):
        run([sys.executable, "-c", script, case, str(tmp_path / case)], check=True)
        found[case] = (tmp_path / case).exists()
    assert found == {"kept": False, "plain": True}


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_of_an_epoch_waits_for_the_garbage_collector(fails):
    def batches():
        yield from range(5)
        if fails:
            raise ValueError("a bad sample")

    class Batches:
        def __init__(self):
            self.inner = batches()

        def __next__(self):
            return next(self.inner)

    gc.collect()
    gc.disable()
    try:
        source = Batches()
        gone = weakref.ref(source)
        loop = PrefetchedCopies(source, Counted())
        del source
        with contextlib.suppress(StopIteration, ValueError):
            while True:
                next(loop)
        del loop
        assert gone() is None
    finally:
        gc.enable()


def test_a_new_epoch_starts_after_the_copies_of_the_last_epoch_have_ended(monkeypatch):
    """Otherwise two threads would use one iterator and wait for each other's batch."""
    sends, release = [], threading.Event()

    class Copies(Counted):
        def send(self, batch):
            sends.append(batch)
            if len(sends) == 2:
                release.wait(60)
            return batch

    monkeypatch.setattr(kept, "GpuCopier", Copies)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    loader = DataLoader(OwnSet(), 4, num_workers=2, persistent_workers=True)
    with tundish.accelerate(loader, device="cuda") as ours:
        next(iter(ours))
        while len(sends) < 2:  # the thread is running, and its copies are unreferenced
            time.sleep(0.001)
        threading.Timer(0.3, release.set).start()
        again = iter(ours)
        assert release.is_set()
        assert [index.tolist()[0] for _, index in again] == [0, 4, 8, 12, 16, 20]
