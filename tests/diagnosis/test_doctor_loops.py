"""Loops of many kinds: the steps, the delivered batches, and a complete removal of the hooks."""

import contextlib
import time

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, TensorDataset
from tundish.diagnosis.probe.layers.layer_facts import RoofFacts

from tests.helpers import plants

N = 60  # batches: more than all phases need with steps=5


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    roof = RoofFacts(1e10, {"fp32": 1e11}, 0.0)
    monkeypatch.setattr("tundish.diagnosis.probe.layers.profile.measure_roof", lambda *words: roof)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def loader(batches=N, **options):
    numbers = torch.arange(batches * 2, dtype=torch.float32).reshape(-1, 1)
    return DataLoader(TensorDataset(numbers, numbers), 2, **options)


def model_and_optimizer(kind=torch.optim.SGD, **options):
    model = torch.nn.Linear(1, 1)
    return model, kind(model.parameters(), 1e-6, **options)


def train(batches, every=1):
    """Makes one optimizer step per `every` batches; returns the first number of each batch."""
    model, optimizer = model_and_optimizer()
    seen = []
    for number, (x, _) in enumerate(batches):
        seen.append(x[0].item())
        model(x).sum().backward()
        x.fill_(-1)  # a batch belongs to the loop, which may overwrite it
        if number % every == every - 1:
            optimizer.step()
            optimizer.zero_grad()
    return seen


def phases(doctor):
    return {one.phase for one in doctor.verdict.facts.steps}


def test_the_number_of_batches_is_unchanged_and_correct_after_cached_batches():
    with tundish.doctor(steps=5) as doctor:
        seen = train(loader())
    plain = [2.0 * number for number in range(N)]
    assert len(seen) == N
    assert "cached" in phases(doctor)
    assert -1 not in seen
    changed = [number for number in range(N) if seen[number] != plain[number]]
    assert len(changed) == 14 + 4  # cached batches, and batches of the layer steps
    assert changed == list(range(changed[0], changed[0] + 18))  # cached batches are consecutive


def test_without_cached_batches_the_loop_gets_the_loaders_batches():
    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        seen = train(loader())
    assert seen == [2.0 * number for number in range(N)]
    assert doctor.verdict.figures.ceiling_from == "computed"


@pytest.mark.parametrize("length", [1, 3, 7])
def test_short_epochs_keep_their_length_with_cached_batches(length):
    data = loader(length)
    with tundish.doctor(steps=5) as doctor:
        counts = [len(train(data)) for _ in range(60)]
    assert counts == [length] * 60
    assert "cached" in phases(doctor)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("workers", [0, 1])
def test_an_epoch_keeps_its_length_that_began_before_the_loop_was_known(every, workers):
    """Its first batches come before the first optimizer step. It ends among the cached batches."""
    data = loader(27 * every, num_workers=workers)
    with tundish.doctor(steps=5) as doctor:
        counts = [len(train(data, every)) for _ in range(3)]
    assert counts == [27 * every] * 3
    assert "cached" in phases(doctor)


def test_an_epoch_keeps_its_length_that_began_before_the_watch():
    batches = iter(loader(30))
    assert len(train(next(batches) for _ in range(4))) == 4
    with tundish.doctor(steps=5) as doctor:
        assert len(train(batches)) == 26
    assert "cached" in phases(doctor)


def test_a_step_is_an_optimizer_step_and_may_have_several_batches():
    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        train(loader(), every=2)
    steps = doctor.verdict.facts.steps[1:]
    assert {(one.batches, one.optimizer_steps) for one in steps} == {(2, 1)}
    assert doctor.verdict.facts.overhead_s > 0


def test_the_overhead_is_measured_once_after_the_measured_steps(monkeypatch):
    """On a GPU the measurement takes as long as several steps."""
    from tundish.diagnosis.probe import session

    asked, found = [], session.overhead_s
    monkeypatch.setattr(
        session, "overhead_s", lambda watch: asked.append(watch.phase) or found(watch)
    )
    with tundish.doctor(steps=5) as doctor:
        train(loader())
    assert asked == ["profile"]
    assert doctor.verdict.facts.overhead_s > 0


def test_two_optimizers_make_one_step_per_batch():
    (a, first), (b, second) = model_and_optimizer(), model_and_optimizer()
    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        for x, _ in loader(30):
            a(x).sum().backward()
            first.step()
            b(x).sum().backward()
            second.step()
    steps = doctor.verdict.facts.steps[1:]
    assert {(one.batches, one.optimizer_steps) for one in steps} == {(1, 2)}


def test_the_time_of_a_closure_counts_for_its_parts():
    model, optimizer = model_and_optimizer(torch.optim.LBFGS, max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        return loss

    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        for x, _ in loader(30):  # noqa: B007
            optimizer.step(closure)
    parts = doctor.verdict.figures.parts
    assert all(parts[part] > 0 for part in ("forward", "backward", "optimizer", "zero_grad"))


@pytest.mark.parametrize("known", [True, False])
def test_an_error_of_the_optimizer_that_is_caught_does_not_stay_in_its_part(known):
    model, optimizer = model_and_optimizer(torch.optim.LBFGS, max_iter=2)
    calls = []

    def closure():
        calls.append(None)
        if len(calls) == 4:
            raise FloatingPointError
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        return loss

    parts = []
    with plants.watched() as session:
        for x, _ in loader(12) if known else [*loader(12)]:  # noqa: B007
            with contextlib.suppress(FloatingPointError):
                optimizer.step(closure)
            parts.append(session.watch.ledger.part)
    assert parts.count("optimizer") == 1, "until the next batch, or the next step"
    assert session.watch.steps[-1].counts["optimizer"] == 1


def test_a_step_inside_a_step_of_another_optimizer_is_part_of_it():
    model, inner = model_and_optimizer()

    class Outer(torch.optim.SGD):
        def step(self, closure=None):
            inner.step()
            parts.append(session.watch.ledger.part)

    outer, parts = Outer(model.parameters(), 1e-6), []
    with plants.watched() as session:
        for x, _ in loader(6):
            model(x).sum().backward()
            outer.step()
            parts.append(session.watch.ledger.part)
    assert parts == ["other", "other", *["optimizer", "other"] * 5]


def test_transforms_that_are_modules_belong_to_the_loader():
    """With num_workers=0 the transforms run in the loop's own thread."""
    from torchvision.transforms import v2

    class Slow(torch.nn.Module):
        def forward(self, x):
            time.sleep(0.005)
            return x

    class Set(TensorDataset):
        steps = v2.Compose([Slow(), v2.Identity()])

        def __getitem__(self, index):
            return self.steps(super().__getitem__(index)[0]), 0

    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        train(DataLoader(Set(torch.ones(60, 1)), 2))
    figures = doctor.verdict.figures
    assert figures.share("data") > 0.5
    rows = [row.name for row in doctor.verdict.loading.rows]
    assert rows[0] == "Slow"
    assert "Compose" not in rows


def test_a_validation_between_steps_is_another_iterator():
    model, optimizer = model_and_optimizer()
    with tundish.doctor(steps=5, cached_batches=False) as doctor:
        for _ in range(5):
            for x, _ in loader(8):
                model(x).sum().backward()
                optimizer.step()
            for x, _ in loader(3):
                model(x)
    steps = doctor.verdict.facts.steps
    assert any(one.boundary for one in steps[1:])
    assert all(one.batches == 1 for one in steps if not one.boundary)


def test_all_hooks_are_removed_after_the_block_even_on_an_error():
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    places = [
        *((torch.nn.Module, "__call__"), (torch.autograd, "backward")),
        *((torch.optim.Optimizer, "zero_grad"), (_BaseDataLoaderIter, "__next__")),
    ]
    before = [getattr(owner, name) for owner, name in places]
    doctor = tundish.doctor()
    with pytest.raises(ZeroDivisionError), doctor:
        _ = train(loader(9))[0] / [getattr(*place) in before for place in places].count(True)
    assert [getattr(owner, name) for owner, name in places] == before
    assert doctor.verdict.cause is not None
    assert any("noisy" in note for note in doctor.verdict.notes)


def test_a_second_doctor_and_an_early_verdict_are_refused():
    with pytest.raises(RuntimeError, match="no verdict yet"):
        _ = tundish.doctor().verdict
    with pytest.raises(ValueError, match="at least 5"):
        tundish.doctor(steps=2)
    with tundish.doctor() as doctor:
        assert doctor.verdict.cause is None
        with pytest.raises(RuntimeError, match="another"):
            tundish.doctor().__enter__()
    with tundish.doctor() as again:
        pass
    assert "fewer than two torch optimizer steps" in again.verdict.sentence
