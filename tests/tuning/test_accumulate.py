"""Accumulate: micro-batches give the gradients of the whole batch."""

import functools

import pytest
import torch
from torch.nn import functional
from tundish.tuning.batch_structure import split_samples
from tundish.tuning.step import Step
from tundish.tuning.tricks import trick_from_json
from tundish.tuning.tricks.accumulate import Accumulate

from tests.helpers.steps import sgd_step, train, twin, worst_difference

ROUNDING = 1e-12  # error of fp64 after a few steps


def model_of(seed=0, norm=False):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)]
    if norm:
        layers.insert(1, torch.nn.BatchNorm1d(16))
    return torch.nn.Sequential(*layers).double()


def batches_of(samples, count=3):
    torch.manual_seed(9)
    return [
        (torch.randn(samples, 6, dtype=torch.float64), torch.randint(3, (samples,)))
        for _ in range(count)
    ]


LOSSES = {
    "mean": torch.nn.CrossEntropyLoss(),
    "sum": torch.nn.CrossEntropyLoss(reduction="sum"),
    "function": functional.cross_entropy,
    "partial sum": functools.partial(functional.cross_entropy, reduction="sum"),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("samples", "parts"), [(12, 2), (12, 4), (13, 4), (3, 8), (1, 2)])
def test_a_step_of_micro_batches_equals_the_step_of_the_whole_batch(loss, samples, parts):
    plain = sgd_step(model_of(), LOSSES[loss], lr=0.01)
    step = twin(plain)
    Accumulate(parts).apply(step)
    batches = batches_of(samples)
    assert train(step, batches) == pytest.approx(train(plain, batches), rel=ROUNDING)
    assert worst_difference(step.model, plain.model) < ROUNDING


def test_a_wrong_scale_would_be_seen():
    plain = sgd_step(model_of())
    step = twin(plain)
    Accumulate(2).apply(step)
    step.mean_loss = False  # each half counts like a whole batch
    train(step, batches_of(12))
    train(plain, batches_of(12))
    assert worst_difference(step.model, plain.model) > 1e-3


def test_equal_shares_for_uneven_micro_batches_would_be_seen(monkeypatch):
    plain = sgd_step(model_of())
    step = twin(plain)
    Accumulate(4).apply(step)
    monkeypatch.setattr(
        "tundish.tuning.step.split_samples",
        lambda batch, parts: [(piece, 1 / parts) for piece, _ in split_samples(batch, parts)],
    )
    train(step, batches_of(13))
    train(plain, batches_of(13))
    assert worst_difference(step.model, plain.model) > 1e-6


def test_with_batch_norm_it_equals_a_loop_over_micro_batches_not_the_whole_batch():
    plain, reference = sgd_step(model_of(norm=True)), sgd_step(model_of(norm=True))
    step = twin(plain)
    Accumulate(2).apply(step)
    (batch,) = batches_of(12, count=1)
    step(batch)
    plain(batch)
    for i in range(2):
        half = slice(6 * i, 6 * i + 6)
        (reference.loss_fn(reference.model(batch[0][half]), batch[1][half]) / 2).backward()
    reference.optimizer.step()
    assert worst_difference(step.model, reference.model) < ROUNDING
    assert worst_difference(step.model, plain.model) > 1e-3


def test_dictionaries_and_a_loss_that_takes_the_model_are_split_too():
    def loss_of(model, batch):
        return functional.cross_entropy(model(batch["x"]), batch["y"])

    model = model_of()
    plain = Step(model, torch.optim.SGD(model.parameters(), 0.1), loss_of)
    other = model_of()
    step = Step(other, torch.optim.SGD(other.parameters(), 0.1), loss_of)
    Accumulate(3).apply(step)
    x, y = batches_of(7, count=1)[0]
    assert float(step({"x": x, "y": y})) == pytest.approx(float(plain({"x": x, "y": y})), rel=1e-12)
    assert worst_difference(other, model) < ROUNDING


def test_undo_restores_the_plain_step():
    plain = sgd_step(model_of(norm=True))
    step = twin(plain)
    trick = Accumulate(2)
    trick.apply(step)
    trick.undo(step)
    assert train(step, batches_of(12)) == train(plain, batches_of(12))


def test_gradients_are_reduced_only_with_the_last_micro_batch():
    events = []

    class Parallel(torch.nn.Linear):
        def no_sync(self):
            class Context:
                def __enter__(self):
                    events.append("hold")

                def __exit__(self, *_):
                    events.append("end")

            return Context()

        def forward(self, x):
            events.append("forward")
            return super().forward(x)

    step = sgd_step(Parallel(6, 3).double())
    Accumulate(3).apply(step)
    step(batches_of(6, count=1)[0])
    assert events == ["hold", "forward", "end"] * 2 + ["forward"]


def test_class_weights_with_a_mean_are_an_obstacle():
    weighted = torch.nn.CrossEntropyLoss(weight=torch.ones(3))
    assert "class weights" in Accumulate(2).obstacle(sgd_step(model_of(), weighted))
    summed = torch.nn.CrossEntropyLoss(weight=torch.ones(3), reduction="sum")
    assert Accumulate(2).obstacle(sgd_step(model_of(), summed)) == ""
    step = sgd_step(model_of())
    Accumulate(2).apply(step)
    assert "already" in Accumulate(2).obstacle(step)


def test_class_weights_of_a_partial_with_a_mean_are_an_obstacle():
    loss_fn = functools.partial(torch.nn.functional.cross_entropy, weight=torch.tensor([1.0, 9, 1]))
    assert "class weights" in Accumulate(2).obstacle(sgd_step(model_of(), loss_fn))
    summed = functools.partial(loss_fn, reduction="sum")
    assert Accumulate(2).obstacle(sgd_step(model_of(), summed)) == ""
    unweighted = functools.partial(loss_fn, weight=None)
    assert Accumulate(2).obstacle(sgd_step(model_of(), unweighted)) == ""


def test_a_plan_file_keeps_its_option():
    assert trick_from_json(Accumulate(4).as_json()) == Accumulate(4)


def test_the_printed_code_trains_to_the_same_weights():
    plain = sgd_step(model_of())
    model, loss_fn = model_of(), plain.loss_fn
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    (batch,) = batches_of(13, count=1)
    plain(batch)
    names = {"model": model, "optimizer": optimizer, "loss_fn": loss_fn}
    exec("\n".join(Accumulate(4).code()), {**names, "inputs": batch[0], "targets": batch[1]})
    assert worst_difference(model, plain.model) < ROUNDING
