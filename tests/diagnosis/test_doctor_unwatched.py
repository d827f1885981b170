"""Objects that the watch cannot handle stay untouched: the script runs as without the doctor."""

import collections
import queue
import signal
import subprocess
import sys
import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from tundish.diagnosis.probe import watch as watch_module
from tundish.diagnosis.probe.clocks.step_ledger import StepLedger
from tundish.diagnosis.probe.collect import inspect_loader
from tundish.diagnosis.probe.loaders.feeding import Feeding
from tundish.diagnosis.probe.loaders.time_limit import TooLong, at_most
from tundish.diagnosis.probe.observations import Observations
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers import plants

Pair = collections.namedtuple("Pair", "x y")
STEPS = 60


class Numbers(Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        return torch.full((8,), float(index)), index % 4


class FrozenDict(dict):
    def __setitem__(self, key, value):
        raise TypeError("frozen")


class MadeOfPairs(Pair):
    """A named tuple whose constructor takes one argument."""

    def __new__(cls, pair):
        return super().__new__(cls, *pair)


class NeedsArgument:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def clone(self, deep):
        raise AssertionError(deep)


def nested(x, y):
    return torch.nested.nested_tensor(list(x)), y


KINDS = {
    "frozen dict": lambda x, y: FrozenDict(x=x, y=y),
    "named tuple": lambda x, y: MadeOfPairs((x, y)),
    "clone with arguments": NeedsArgument,
    "nested tensor": nested,
}


def parts(batch):
    if isinstance(batch, dict):
        return batch["x"], batch["y"]
    x, y = batch if isinstance(batch, list | tuple) else (batch.x, batch.y)
    return (torch.nested.to_padded_tensor(x, 0.0) if x.is_nested else x), y


class Unused(torch.nn.Module):
    """A model with a lazy layer that is never called and with an overridden parameters()."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = torch.nn.Linear(8, 4), torch.nn.LazyLinear(4)

    def forward(self, x):
        return self.used(x)

    def parameters(self, rate):
        return [{"params": list(self.used.parameters()), "lr": rate}]


def train(loader, model=None):
    """Returns the labels of every batch."""
    torch.manual_seed(0)
    model = model or torch.nn.Linear(8, 4)
    own = isinstance(model, Unused)
    optimizer = torch.optim.SGD(model.parameters(0.01) if own else model.parameters(), 0.01)
    labels = []
    for batch in loader:
        x, y = parts(batch)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        labels += y.tolist()
    return labels


def collate(make):
    def together(samples):
        x, y = torch.utils.data.default_collate(samples)
        return make(x, y)

    return together


@pytest.mark.filterwarnings("ignore:.*nested")
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_class_are_trained_on_and_judged(kind):
    loader = DataLoader(Numbers(), 4, collate_fn=collate(KINDS[kind]))
    with plants.watched() as session:
        assert len(train(loader)) >= 4 * STEPS
    verdict = judge(session.end())
    assert session.watch.phase == "done"
    assert verdict.figures is not None
    assert "failed" not in str(verdict)


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_layers_and_custom_parameters_do_not_break_the_script():
    model = Unused()
    with plants.watched() as session:
        train(DataLoader(Numbers(), 4), model)
    verdict = judge(session.end())
    assert session.watch.phase == "done"
    assert verdict.facts.observed.parameters == 36
    assert "failed" not in str(verdict)


class Slots:
    __slots__ = ("iterator",)

    def __init__(self, iterator):
        self.iterator = iterator

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.iterator)


@pytest.mark.parametrize("around", [iter, lambda it: (one for one in it), Slots])
def test_a_loader_may_give_an_iterator_of_any_class(around):
    class Loader(DataLoader):
        def _get_iterator(self):
            return around(super()._get_iterator())

    with plants.watched() as session:
        train(Loader(Numbers(), 4))
    assert session.watch.phase == "done"
    assert not session.watch.failed


def fails(*ignored, **named):
    raise ZeroDivisionError("of the watch")


REPORTS = [
    *((watch_module.Watch, name) for name in ("optimizer_ended", "next_begins", "next_ended")),
    *(
        (watch_module.Watch, name)
        for name in ("cached_batch", "gives_cached_batch", "iteration_ended")
    ),
    *((watch_module.Watch, name) for name in ("_next_phase", "_close_step", "_start_layers")),
    *((Observations, name) for name in ("batch", "root_called", "backward_called", "facts")),
    *((StepLedger, name) for name in ("enter", "leave", "close_step")),
    *((Feeding, name) for name in ("begin", "pop_served_count", "optimizer_stepped")),
]


@pytest.mark.parametrize(("owner", "name"), REPORTS, ids=lambda one: getattr(one, "__name__", one))
def test_an_error_of_the_watch_ends_the_watch_and_not_the_script(owner, name, monkeypatch):
    loader = DataLoader(Numbers(), 24)
    monkeypatch.setattr(owner, name, fails)
    session = plants.Session(plants.Settings(**plants.QUICK), None)
    session.begin()
    try:
        labels = [label for _ in range(8) for label in train(loader)]
    finally:
        session.hooks.uninstall()
        monkeypatch.undo()
    assert "ZeroDivisionError: of the watch" in session.watch.failed
    assert session.watch.phase == "done"
    assert len(labels) >= 8 * len(Numbers())
    verdict = judge(session.end())
    assert "the watch failed, and the script ran on unwatched" in "\n".join(verdict.notes)


SCRIPT = """
import torch
from torch.utils.data import DataLoader
from tundish_doctor_watch.diagnosis.probe.watch import Watch
def fails(*ignored): raise ZeroDivisionError("of the watch")
Watch.next_ended = fails
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in DataLoader(torch.ones(80, 8), 4):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
print("its end")
raise SystemExit(7)
"""


def test_the_doctor_says_that_the_script_goes_on_unwatched(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    words = [sys.executable, "-m", "tundish", "doctor", "--", sys.executable, "train.py"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert (result.stdout, result.returncode) == ("its end\n", 7)
    assert (
        "tundish: the script runs on unwatched: ZeroDivisionError: of the watch\n" in result.stderr
    )
    assert "Traceback" not in result.stderr


def test_the_watch_does_not_initialize_cuda_before_the_script(monkeypatch):
    """Early CUDA initialization would ignore CUDA_VISIBLE_DEVICES and break the GPU in forks."""
    asked = []
    for name in ("is_available", "device_count", "current_device"):
        monkeypatch.setattr(torch.cuda, name, lambda name=name: asked.append(name) or True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    to = torch.Tensor.to
    with plants.watched(layers=3) as session:
        hooked = torch.Tensor.to is not to
        train(DataLoader(Numbers(), 4))
    assert hooked
    assert session.watch.phase == "done"
    assert torch.Tensor.to is to
    assert asked == []


class Drained(Dataset):
    """A dataset that reads from an abandoned queue and catches every error."""

    def __init__(self):
        self.queue = queue.Queue()

    def __len__(self):
        return 8

    def __getitem__(self, index):
        while True:
            try:
                return self.queue.get()
            except Exception:
                continue


def test_inspecting_a_blocking_dataset_times_out(monkeypatch):
    monkeypatch.setattr("tundish.diagnosis.probe.collect._LIMIT_S", 0.2)
    loader = DataLoader(Drained(), 4)
    began = time.monotonic()
    found, why = inspect_loader(type("Seen", (), {"loader": loader})(), 0.01)
    assert time.monotonic() - began < 5
    assert found.batch_size == 4
    assert why == "it took more than 0.3 s"


def test_the_time_limit_leaves_no_alarm_behind():

    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TooLong), at_most(0.05):
        time.sleep(5)
    with at_most(5):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_alarm_set_by_the_script_is_kept():

    own = lambda *_: None  # noqa: E731
    signal.signal(signal.SIGALRM, own)
    try:
        with at_most(0.01):
            assert signal.getsignal(signal.SIGALRM) is own
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
