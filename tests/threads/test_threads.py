"""A loader used by several threads of a program: each batch once, or a clear error."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import tundish
from tundish._c.functions import AGAIN
from tundish._c.library import lib

from tests.helpers.loaders import opened

LIMIT_S = 120  # only a hang reaches the limit

HEAD = """
import random, sys, threading, tundish
from tundish import transforms as T
from collections import Counter
sys.setswitchinterval(1e-5)

def loader(**more):
    return tundish.Loader(sys.argv[1], 3, threads=2, backend="numpy", shuffle=True, return_index=True,
                          transforms=[T.Resize((8, 8))], **more)

def run(*bodies):
    failed = []
    def guarded(body):
        try:
            body()
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if failed: raise failed[0]
"""


def run(run_python, body, pack):
    result = run_python(HEAD + body, pack, check=False, timeout=LIMIT_S)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize("many", [2, 5])
@pytest.mark.parametrize("gil", [True, False])  # False: the code path of a free-threaded Python
def test_threads_that_share_an_iterator_get_each_batch_once(tiny, run_python, many, gil):
    run(
        run_python,
        f"""
if not {gil}:
    from tundish.data import loader_run as way
    way._HAS_GIL = False
one = loader()
for epoch in range(30):
    assert one.epoch == epoch
    iterator, seen = iter(one), Counter()
    def consume():
        for images, labels, index in iterator:
            seen.update(index.tolist())
    run(*[consume] * {many})
    assert seen == dict.fromkeys(range({tiny.count}), 1), seen
    assert one.state_dict()["position"] == 0
print("fine")
""",
        tiny.pack,
    )


def test_a_batch_may_be_taken_by_another_thread_between_two_polls(tiny, monkeypatch):
    with opened(tiny.pack, backend="numpy", return_index=True) as loader:
        batches = iter(loader)
        run = loader._run
        assert run._advance(batches._iteration)  # a batch is ready, not delivered
        taken, here = [], type(run.pending).is_ready

        def taken_meanwhile(pending):
            was = here(pending)
            if pending.out is not None and not taken:
                taken.append(pending.out)
                pending.out = pending.delivered = None
                run.place = (run.place[0], pending.info.next_position)
            return was

        monkeypatch.setattr(type(run.pending), "is_ready", taken_meanwhile)
        seen = [n for *_, index in [*batches, *taken] for n in index.tolist()]
    assert len(taken) == 1
    assert sorted(seen) == list(range(tiny.count))


def test_every_method_may_be_called_while_threads_iterate(tiny, run_python):
    run(
        run_python,
        """
for round in range(15):
    one = loader(memory="1GiB", cache="decoded")
    choose = random.Random(round)
    closed = threading.Event()
    def consume():
        while True:
            try:
                for images, labels, index in one:
                    assert len(index) in (1, 3)
            except RuntimeError as error:
                if getattr(error, "code", "") == "TND-606": return
                assert "newer iteration" in str(error), error
    def control():
        for _ in range(60):
            state = one.state_dict()
            assert 0 <= state["position"] <= 355
            choose.choice([one.stats, lambda: one.stats(reset=True), one.bad_samples, one.report,
                           lambda: one.set_epoch(choose.randrange(5)), lambda: len(one), lambda: repr(one),
                           lambda: one.load_state_dict(state), lambda: next(iter(one))])()
        one.close()
    def calm():  # its own iteration may be ended by the others
        while True:
            try:
                control()
                return
            except RuntimeError as error:
                if getattr(error, "code", "") == "TND-606": return
                assert "newer iteration" in str(error), error
    run(consume, consume, calm, calm)
print("fine")
""",
        tiny.pack,
    )


class Held:
    """Withholds batches: every call of a thread other than the test's returns AGAIN."""

    def __init__(self, monkeypatch):
        self.waits = threading.Event()
        self.come = threading.Event()
        self._test = threading.get_ident()
        self._next = lib.tundish_loader_next
        monkeypatch.setattr(lib, "tundish_loader_next", self)

    def __call__(self, *arguments):
        if threading.get_ident() == self._test or self.come.is_set():
            return self._next(*arguments)
        self.waits.set()
        time.sleep(0.001)
        return AGAIN


@pytest.fixture
def held(monkeypatch):
    return Held(monkeypatch)


@pytest.fixture
def other():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def numbers(batches):
    return Counter(number for *_, index in batches for number in index.tolist())


def test_a_thread_that_waits_takes_no_batch_of_a_newer_iteration(tiny, held, other):
    with opened(tiny.pack, return_index=True) as loader:
        old = iter(loader)
        waiting = other.submit(next, old)
        assert held.waits.wait(LIMIT_S)
        new = iter(loader)
        held.come.set()
        with pytest.raises(RuntimeError, match="newer iteration"):
            waiting.result(LIMIT_S)
        assert numbers(new) == dict.fromkeys(range(tiny.count), 1)
        with pytest.raises(RuntimeError, match="newer iteration"):
            next(old)


def test_a_thread_that_waits_blocks_no_other_call(tiny, held, other):
    with opened(tiny.pack, return_index=True) as loader:
        first = iter(loader)
        next(first)
        waiting = other.submit(next, first)
        assert held.waits.wait(LIMIT_S)
        assert loader.state_dict()["position"] == 5
        assert loader.stats()["data/batches"] == 1
        assert loader.bad_samples() == []
        assert len(loader.replay(loader.state_dict()).plans) == 5
        loader.set_epoch(7)
        loader.load_state_dict(loader.state_dict())
        with pytest.raises(RuntimeError, match="newer iteration"):
            waiting.result(LIMIT_S)
        rest = numbers(loader)
        assert len(rest) == tiny.count - 5
        held.waits.clear()
        waiting = other.submit(next, iter(loader))
        assert held.waits.wait(LIMIT_S)
        loader.close()
        with pytest.raises(tundish.Error, match="TND-606"):
            waiting.result(LIMIT_S)


def test_a_late_thread_sees_the_end_of_the_epoch(tiny, held, other):
    with opened(tiny.pack, return_index=True) as loader:
        iterator = iter(loader)
        waiting = other.submit(list, iterator)
        assert held.waits.wait(LIMIT_S)
        mine = list(iterator)
        both = mine + waiting.result(LIMIT_S)
        assert numbers(both) == dict.fromkeys(range(tiny.count), 1)
        assert loader.epoch == 1  # only one of the two threads advanced the epoch


def test_an_epoch_is_set_before_its_first_batch_while_a_thread_waits_for_it(tiny, held, other):
    options = {"return_index": True, "shuffle": True}
    with opened(tiny.pack, **options) as loader, opened(tiny.pack, **options) as wanted:
        wanted.set_epoch(3)
        waiting = other.submit(next, iter(loader))
        assert held.waits.wait(LIMIT_S)
        loader.set_epoch(3)
        held.come.set()
        assert waiting.result(LIMIT_S)[2].tolist() == next(iter(wanted))[2].tolist()


def test_a_child_process_does_not_wait_for_a_thread_of_its_parent(tiny, run_python):
    run(
        run_python,
        """
import os, warnings
warnings.simplefilter("ignore")  # newer versions of Python warn of a fork with threads
one, over = loader(), threading.Event()
def consume():
    while not over.is_set():
        for batch in one:
            pass
thread = threading.Thread(target=consume)
thread.start()
for _ in range(100):
    child = os.fork()
    if child == 0:
        try:
            one.set_epoch(3)  # may have to start its iteration, which is not here
            one.load_state_dict(one.state_dict())
            next(iter(one))
        except tundish.Error as error:
            os._exit(0 if error.code == "TND-604" else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join()
print("fine")
""",
        tiny.pack,
    )
