"""Worker threads of tundish.accelerate: errors, interruptions, and that none is left behind."""

import contextlib
import gc
import signal
import sys
import threading
import weakref
from subprocess import run

import pytest
import tundish
from torch.utils.data import DataLoader, Dataset

from tests.helpers.torch_sets import OwnSet


def threaded(dataset, **options):
    loader = DataLoader(dataset, 2, **{"num_workers": 2, **options})
    return tundish.accelerate(loader, workers="threads")


def worker_threads():
    return [one for one in threading.enumerate() if one.name.startswith("tundish-worker-")]


def wait_for(threads):
    for one in threads:
        one.join(10)
    assert not any(one.is_alive() for one in threads)


class Waits(Dataset):
    """Its fourth sample comes when `go` is set."""

    def __init__(self):
        self.go, self.reached = threading.Event(), threading.Event()

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == 3:
            self.reached.set()
            assert self.go.wait(30)
        return index


class Fails(OwnSet):
    def __init__(self, error):
        self.error = error

    def __getitem__(self, index):
        if index == 5:
            raise self.error
        return index


@pytest.mark.parametrize("error", [ValueError("no such image"), KeyError("name")])
def test_an_error_has_its_type_names_the_worker_and_is_not_the_end(error):
    batches = iter(threaded(Fails(error)))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(type(error)) as caught:
        next(batches)
    text = str(caught.value)
    assert f"Caught {type(error).__name__} in DataLoader worker thread 0" in text
    assert "raise self.error" in text, "the line of the data set"
    assert [batch.tolist()[0] for batch in batches] == [6, 8, 10, 12, 14, 16, 18, 20, 22]
    assert not worker_threads()


def test_an_error_in_a_proof_is_that_of_the_data_set_alone():
    loader = DataLoader(Fails(ValueError("no such image")), 2, num_workers=1)
    with pytest.raises(ValueError, match="no such image") as caught:
        tundish.accelerate(loader, workers="threads", prove=3)
    assert caught.value.__context__ is None
    assert "NotTranslated" not in str(caught.value)


def test_a_data_set_that_calls_exit_is_an_error_of_the_loop():
    with pytest.raises(RuntimeError, match=r"worker thread 0 was ended by SystemExit\(3\)"):
        list(threaded(Fails(SystemExit(3))))
    wait_for(worker_threads())


def test_a_batch_that_does_not_come_is_an_error_after_the_timeout():
    dataset = Waits()
    batches = iter(threaded(dataset, timeout=0.05))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.05 seconds"):
        next(batches)
    dataset.go.set()
    while True:  # as with torch's, the batch may still come
        with contextlib.suppress(RuntimeError):
            assert next(batches).tolist() == [2, 3]
            break


def test_a_loop_that_is_left_ends_the_threads():
    for batch in threaded(OwnSet()):
        assert len(batch)
        break
    wait_for(worker_threads())


def test_persistent_threads_end_with_the_loader():
    loader = threaded(OwnSet(), persistent_workers=True)
    assert sum(1 for _ in loader) == 12
    threads = worker_threads()
    assert len(threads) == 2
    del loader
    wait_for(threads)


def test_nothing_of_an_epoch_waits_for_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        dataset = OwnSet()
        gone = weakref.ref(dataset)
        loader = threaded(dataset)
        del dataset
        assert sum(1 for _ in loader) == 12
        assert not worker_threads()
        del loader
        assert gone() is None
    finally:
        gc.enable()


def test_close_waits_for_the_threads_and_a_new_iteration_starts_others():
    loader = threaded(OwnSet(), persistent_workers=True)
    batches = iter(loader)
    next(batches)
    first = worker_threads()
    assert len(first) == 2
    loader.close()
    assert not worker_threads()
    with pytest.raises(RuntimeError, match="closed in the middle"):
        next(batches)
    assert sum(1 for _ in loader) == 12
    second = worker_threads()
    assert sum(1 for _ in loader) == 12
    assert worker_threads() == second, "persistent_workers"
    assert not set(first) & set(second)
    loader.close()
    assert not worker_threads()


def test_close_waits_for_the_threads_of_a_loop_that_was_left():
    dataset = Waits()
    loader = threaded(dataset)
    for _ in loader:
        break
    assert dataset.reached.wait(10)
    at_work = worker_threads()
    assert at_work
    threading.Timer(0.2, dataset.go.set).start()
    loader.close()
    assert not any(one.is_alive() for one in at_work)


def test_an_interrupted_loop_ends_the_threads():
    dataset = Waits()

    def interrupt():
        assert dataset.reached.wait(10)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def take_all():
        thread.start()
        return list(threaded(dataset))

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        take_all()
    thread.join()
    threads = worker_threads()
    assert len(threads) == 2, "one waits in the data set, one for work"
    del caught  # its traceback has the loop's iterator
    dataset.go.set()
    wait_for(threads)


def test_close_wakes_a_thread_that_waits_for_a_batch():
    dataset = Waits()
    loader = threaded(dataset)
    batches, found = iter(loader), []

    def take_all():
        try:
            found.extend(batches)
        except RuntimeError as error:
            found.append(str(error))

    taker = threading.Thread(target=take_all)
    taker.start()
    assert dataset.reached.wait(10)
    closer = threading.Thread(target=loader.close)
    closer.start()
    while not batches._next.__self__.closed:
        closer.join(0.01)
    dataset.go.set()
    closer.join(10)
    taker.join(10)
    assert not taker.is_alive()
    assert found[-1] == "the loader was closed in the middle of this epoch"
    assert not worker_threads()


def test_a_thread_that_cannot_be_set_up_is_an_error_of_the_loop(monkeypatch):
    def fails(*_):
        raise OSError("no such device")

    monkeypatch.setattr("tundish.dropin.thread_workers.answer_in_this_thread", fails)
    with pytest.raises(OSError, match="Caught OSError in DataLoader worker thread 0"):
        iter(threaded(OwnSet()))
    wait_for(worker_threads())


PROGRAM = """
import threading, torch, tundish
from torch.utils.data import DataLoader, Dataset
class Endless(Dataset):
    def __len__(self): return 1 << 30
    def __getitem__(self, index): return torch.rand(1000).sort()
loader = tundish.accelerate(DataLoader(Endless(), 64, num_workers=2, prefetch_factor=1000), workers="threads")
batches = iter(loader)
next(batches)
print("the end")
"""


def test_a_program_may_end_while_threads_are_at_work():
    done = run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr


FORKED = """
import os, signal, torch, tundish
from torch.utils.data import DataLoader
loader = DataLoader(list(range(8)), 2, num_workers=2, persistent_workers=True)
loader = tundish.accelerate(loader, workers="threads")
assert len(list(loader)) == 4
open_one = iter(loader)
next(open_one)
if os.fork() == 0:
    signal.alarm(30)
    try:
        next(open_one)
    except RuntimeError as error:
        print(error, flush=True)
    for _ in range(2):
        print([batch.tolist() for batch in loader], flush=True)
    loader.close()
    os._exit(0)
print("child", os.wait()[1])
print([batch.tolist() for batch in open_one])
"""


def test_a_forked_process_has_threads_of_its_own():
    done = run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    error, fix, *rest = done.stdout.splitlines()
    assert "was made before a fork" in error, done.stderr
    assert "iterate the loader anew" in fix
    epoch = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert rest == [str(epoch)] * 2 + ["child 0", str(epoch[1:])]
