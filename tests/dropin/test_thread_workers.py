"""tundish.accelerate(..., workers="threads"): the batches of torch's worker processes, made by threads of this process."""

import logging
import pickle
import sys
import sysconfig
import threading
import time
from subprocess import run

import pytest
import torch
import tundish
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
)
from tundish.dropin import kept, workers
from tundish.dropin.thread_proof import is_equal

from tests.helpers.torch_sets import OwnSet, OwnStream

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def threaded(loader, **options):
    """By threads, or the test fails."""
    ours = tundish.accelerate(loader, workers="threads", **options)
    assert ours.report.workers == ("threads" if loader.num_workers else ""), str(ours.report)
    return ours


class Asks(Dataset):
    """Uses what a worker knows of itself, and random numbers as the documentation says."""

    def __len__(self):
        return 23

    def __getitem__(self, index):
        info = get_worker_info()
        generator = None if info is None or info.rng is None else info.rng.torch_generator
        facts = (0, 0) if info is None else (info.id, info.num_workers, info.seed)
        return index, facts, torch.rand(2, generator=generator)


class Listed(OwnSet):
    def __getitems__(self, indices):
        return [(index, "from a list") for index in indices]


class Halves(BatchSampler):
    """Draws when it is asked, not when it is iterated."""

    def __iter__(self):
        order = torch.randperm(23).tolist()
        return iter([order[:5], order[5:], order[:1]])


def reversed_collate(samples):
    return default_collate(samples[::-1])


LOADERS = {
    "in order": lambda n: DataLoader(OwnSet(), 4, num_workers=n),
    "shuffled": lambda n: DataLoader(OwnSet(), 4, shuffle=True, num_workers=n, drop_last=True),
    "generator": lambda n: DataLoader(
        OwnSet(), 4, shuffle=True, num_workers=n, generator=torch.Generator().manual_seed(3)
    ),
    "by weight": lambda n: DataLoader(
        OwnSet(), 3, sampler=WeightedRandomSampler([1.0] * 20 + [5.0] * 3, 40), num_workers=n
    ),
    "own batches": lambda n: DataLoader(
        OwnSet(), batch_sampler=Halves([], 1, False), num_workers=n
    ),
    "collate_fn": lambda n: DataLoader(OwnSet(), 4, collate_fn=reversed_collate, num_workers=n),
    "no batches": lambda n: DataLoader(OwnSet(), None, shuffle=True, num_workers=n),
    "lists": lambda n: DataLoader(Listed(), 4, shuffle=True, num_workers=n),
    "asks": lambda n: DataLoader(Asks(), 4, shuffle=True, num_workers=n),
}


def seeded(loader, epochs=1):
    """All batches, and what the loop draws beside them: the loader's share of its random numbers."""
    torch.manual_seed(5)
    out = [(batch, torch.rand(1)) for _ in range(epochs) for batch in loader]
    return [*out, torch.rand(1)]


@pytest.mark.parametrize(
    ("name", "count"),
    [(name, 2) for name in LOADERS]
    + [(name, n) for name in ("shuffled", "asks") for n in (0, 1, 4)],
)
def test_batches_of_threads_are_those_of_processes(name, count):
    expected = seeded(LOADERS[name](count))
    assert is_equal(seeded(threaded(LOADERS[name](count))), expected)


def test_persistent_threads_have_the_epochs_of_persistent_processes():
    options = {"shuffle": True, "num_workers": 2, "persistent_workers": True}
    expected = seeded(DataLoader(Asks(), 4, **options), epochs=2)
    ours = threaded(DataLoader(Asks(), 4, **options))
    assert is_equal(seeded(ours, epochs=2), expected)
    ours.close()


def test_an_epoch_that_was_left_does_not_change_the_next_one():
    options = {"shuffle": True, "num_workers": 2, "persistent_workers": True}
    epochs = []
    for loader in (DataLoader(Asks(), 4, **options), threaded(DataLoader(Asks(), 4, **options))):
        torch.manual_seed(5)
        next(iter(loader))
        epochs.append(list(loader))
    assert is_equal(epochs[1], epochs[0])


def test_batches_are_made_a_few_ahead_by_the_worker_that_torch_would_take():
    class Watched(OwnSet):
        made = threading.Semaphore(0)
        by = {}  # noqa: RUF012

        def __getitem__(self, index):
            self.by[index] = get_worker_info().id
            self.made.release()
            return index

    dataset = Watched()
    batches = iter(threaded(DataLoader(dataset, 1, num_workers=2, prefetch_factor=3)))
    for _ in range(6):
        assert dataset.made.acquire(timeout=10)
    assert not dataset.made.acquire(timeout=0.05)  # nobody took one, so no more are made
    next(batches)
    assert dataset.made.acquire(timeout=10)
    assert dataset.by == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1, 6: 0}


def test_the_loop_and_other_threads_are_no_workers():
    class Other(OwnSet):
        def __getitem__(self, index):
            found = []
            other = threading.Thread(target=lambda: found.append(get_worker_info()))
            other.start()
            other.join()
            return found[0] is None, get_worker_info().dataset is self

    threads = threaded(DataLoader(Other(), 23, num_workers=1))
    (other, own) = next(iter(threads))
    assert other.all()
    assert own.all()
    assert get_worker_info() is None
    (facts,) = {
        tuple(f.tolist()) for _, f, _ in DataLoader(Asks(), 23, num_workers=1) for f in [f[1]]
    }
    assert set(facts) == {1}, "processes have torch's answer"


def test_threads_compute_with_one_thread_as_processes_do():
    class Sums(OwnSet):
        def __getitem__(self, index):
            return torch.get_num_threads()

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = torch.cat(list(threaded(DataLoader(Sums(), 4, num_workers=2))))
        assert found.tolist() == [1] * 23
        assert torch.get_num_threads() == 3
        new = []
        thread = threading.Thread(target=lambda: new.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert new == [3]
    finally:
        torch.set_num_threads(before)


# --- random numbers ------------------------------------------------------------------------------


class Draws(OwnSet):
    def __getitem__(self, index):
        return index, torch.rand(1)


def test_random_numbers_that_threads_share_are_reported(caplog):
    ours = threaded(DataLoader(Draws(), 4, num_workers=2))
    assert any("global generators" in text for text in ours.report.differs)
    with caplog.at_level(logging.WARNING, "tundish"):
        list(ours)
        list(ours)
    assert caplog.text.count("random numbers of torch were drawn") == 1
    assert any("random numbers of torch were drawn" in text for text in ours.report.differs)


def test_what_the_loop_draws_is_not_reported(caplog):
    first, second = (threaded(DataLoader(OwnSet(), 4, num_workers=1)) for _ in range(2))
    with caplog.at_level(logging.WARNING, "tundish"):
        for _ in zip(
            first, second
        ):  # the second one's seed is drawn before the first batch is taken
            torch.rand(1)
        batches = iter(threaded(DataLoader(OwnSet(), 4, num_workers=2)))
        torch.manual_seed(3)
        list(batches)
    assert "were drawn" not in caplog.text
    assert not any("were drawn" in text for one in (first, second) for text in one.report.differs)


def test_nothing_is_reported_when_nothing_was_drawn(caplog):
    ours = threaded(DataLoader(Asks(), 4, shuffle=True, num_workers=2))
    with caplog.at_level(logging.WARNING, "tundish"):
        list(ours)
    assert "were drawn" not in caplog.text


def test_a_proof_keeps_threads_only_where_batches_are_equal(caplog):
    generator = torch.Generator().manual_seed(1)
    options = {"shuffle": True, "num_workers": 2, "generator": generator}
    state = generator.get_state()
    ours = threaded(DataLoader(Asks(), 4, **options), prove=3)
    assert ours.report.proof == "3 batches of threads are equal to those of processes"
    assert torch.equal(generator.get_state(), state)
    theirs = DataLoader(Draws(), 4, num_workers=2, persistent_workers=True)
    ours = tundish.accelerate(theirs, workers="threads", prove=3)
    assert ours.report.workers == "processes"
    assert "batch 0 of threads differs" in str(ours.report)
    assert "draws random numbers of torch, which threads share" in ours.report.proof
    assert theirs._iterator is None
    assert not ours.report.differs
    assert "so that they differ" not in caplog.text, "of threads that nobody has"
    ours = tundish.accelerate(DataLoader(OwnSet(), 4, num_workers=1), prove=3)
    assert ours.report.proof == "none: torch makes the batches as before"


# --- what needs processes ------------------------------------------------------------------------


def seeds(worker):
    torch.manual_seed(worker)


class OwnLoader(DataLoader):
    def __iter__(self):
        return super().__iter__()


NEED_PROCESSES = {
    "worker_init_fn": lambda: DataLoader(OwnSet(), 4, num_workers=1, worker_init_fn=seeds),
    "divided among processes": lambda: DataLoader(OwnStream(), 4, num_workers=1),
    "in_order=False": lambda: DataLoader(OwnSet(), 4, num_workers=1, in_order=False),
    "in a way of its own": lambda: OwnLoader(OwnSet(), 4, num_workers=1),
}


@pytest.mark.parametrize("what", NEED_PROCESSES)
def test_what_needs_processes_keeps_them_and_says_why(what):
    ours = tundish.accelerate(NEED_PROCESSES[what](), workers="threads")
    assert ours.report.workers == "processes"
    assert "1 process of torch, not threads" in str(ours.report)
    assert what in ours.report.about_workers
    assert "instead: " in ours.report.about_workers


@pytest.mark.parametrize("gil", [True, False])
def test_auto_takes_threads_where_python_has_no_gil(monkeypatch, gil):
    monkeypatch.setattr(workers, "has_gil", lambda: gil)
    ours = tundish.accelerate(DataLoader(OwnSet(), 4, num_workers=2), workers="auto")
    assert ours.report.workers == ("processes" if gil else "threads")
    ours = tundish.accelerate(DataLoader(OwnSet(), 4, num_workers=2))
    assert ours.report.workers == "processes", "nobody said that the data set is thread safe"
    assert ('workers="auto" takes threads' in str(ours.report)) == (not gil)


def test_the_word_is_checked_and_travels_with_the_loader():
    with pytest.raises(ValueError, match="workers must be one of 'processes', 'threads', 'auto'"):
        tundish.accelerate(DataLoader(OwnSet(), 4), workers="thread")
    again = pickle.loads(pickle.dumps(threaded(DataLoader(OwnSet(), 4, num_workers=2))))
    assert again.report.workers == "threads"
    assert [index.tolist()[0] for _, index in again] == [0, 4, 8, 12, 16, 20]


def test_batches_of_threads_are_copied_to_a_device(monkeypatch):
    class Copies:
        def __init__(self, device):
            self.send = self.receive = lambda batch: batch

    monkeypatch.setattr(kept, "GpuCopies", Copies)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    loader = DataLoader(OwnSet(), 4, num_workers=2, persistent_workers=True)
    with threaded(loader, device="cuda") as ours:
        next(iter(ours))
        for _ in range(2):
            assert [index.tolist()[0] for _, index in ours] == [0, 4, 8, 12, 16, 20]
    assert not [one for one in threading.enumerate() if one.name.startswith("tundish-")]


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_new_epoch_begins_when_the_copies_of_the_last_one_have_left_it(monkeypatch, workers):
    """Else two threads take batches of one iterator, and each waits for what the other has."""
    sends, let_go = [], threading.Event()

    class Copies:
        def __init__(self, device):
            self.receive = lambda batch: batch

        def send(self, batch):
            sends.append(batch)
            if len(sends) == 2:
                let_go.wait(60)
            return batch

    monkeypatch.setattr(kept, "GpuCopies", Copies)
    monkeypatch.setattr("tundish.dropin.accelerate.device_of", lambda device, _: device)
    loader = DataLoader(OwnSet(), 4, num_workers=2, persistent_workers=True)
    with tundish.accelerate(loader, workers=workers, device="cuda") as ours:
        next(iter(ours))
        while len(sends) < 2:  # now the thread is at work, and nobody refers to its copies
            time.sleep(0.001)
        threading.Timer(0.3, let_go.set).start()
        again = iter(ours)
        assert let_go.is_set()
        assert [index.tolist()[0] for _, index in again] == [0, 4, 8, 12, 16, 20]


def test_samplers_are_asked_when_torch_asks_them():
    loaders = [
        DataLoader(
            OwnSet(),
            1,
            sampler=RandomSampler(range(23), replacement=True, num_samples=90),
            num_workers=1,
        )
        for _ in range(2)
    ]  # it draws 32 numbers at a time, from the loop's generator
    assert is_equal(seeded(threaded(loaders[0])), seeded(loaders[1]))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded"
)
def test_a_free_threaded_python_stays_so():
    text = (
        "import sys, torch, tundish; from torch.utils.data import DataLoader, TensorDataset\n"
        "gil = sys._is_gil_enabled()\n"
        "loader = DataLoader(TensorDataset(torch.arange(9)), 2, num_workers=2)\n"
        "ours = tundish.accelerate(loader, workers='auto')\n"
        "assert sum(len(x) for x, in ours) == 9\n"
        "print(gil, sys._is_gil_enabled(), ours.report.workers)"
    )
    done = run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "threads"]
