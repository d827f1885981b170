"""The training step with and without tricks, compared with a plain loop."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from tundish import ArgumentError
from tundish.tuning.batch_structure import samples_of, slice_samples, split_samples
from tundish.tuning.step import Step
from tundish.tuning.tricks import TRICKS, Trick, in_order, trick_from_json
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.inplace import InplaceActivations
from tundish.tuning.tricks.optimizer_kernels import ForeachOptimizer, FusedOptimizer

from . import jobs


def plain_loop(job: Any, batches: list[Any], clip: float | None = None) -> list[float]:
    model, optimizer, loss_fn = job[:3]
    losses = []
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def made(build: Any = jobs.cnn) -> Any:
    torch.manual_seed(0)
    return build()


def some_batches(count: int = 6) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [
        (
            torch.randn(16 if i % 3 else 10, 3, 16, 16, generator=generator),
            torch.randint(0, 10, (16 if i % 3 else 10,), generator=generator),
        )
        for i in range(count)
    ]


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.state_dict().values()])


@pytest.mark.parametrize("clip", [None, 0.1])
def test_a_step_without_tricks_is_the_plain_loop(clip: float | None) -> None:
    ours, theirs = made(), made()
    step = Step(*ours[:3])
    step.max_norm = clip
    losses = [float(step(batch)) for batch in some_batches()]
    assert losses == plain_loop(theirs, some_batches(), clip)
    assert torch.equal(weights(ours[0]), weights(theirs[0]))


@pytest.mark.parametrize(
    "trick", [ChannelsLast(), FusedOptimizer(), ForeachOptimizer(), InplaceActivations()]
)
@pytest.mark.parametrize("when", ["before the first step", "later"])
def test_a_trick_of_fp32_keeps_the_weights(trick: Trick, when: str) -> None:
    ours, theirs = made(), made()
    step = Step(*ours[:3])
    batches = some_batches()
    if when == "later":
        step(batches[0])
        plain_loop(theirs, batches[:1])
        batches = batches[1:]
    assert not trick.obstacle(step)
    trick.apply(step)
    for batch in batches:
        step(batch)
    plain_loop(theirs, batches)
    torch.testing.assert_close(weights(ours[0]), weights(theirs[0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", TRICKS)
def test_undo_restores_everything(kind: type[Trick]) -> None:
    step = Step(*made()[:3])
    step(some_batches()[0])
    trick = kind()
    if trick.obstacle(step):
        assert kind.name in OBSTACLES_HERE
        return
    before = snapshot(step)
    trick.apply(step)
    step.reset()
    trick.undo(step)
    assert snapshot(step) == before
    plain, ours = copy.deepcopy(step.model), step.model
    batch = some_batches()[1]
    assert torch.equal(plain(batch[0]), ours(batch[0]))


OBSTACLES_HERE = {
    "strict_fp32", "torch_defaults", "tf32", "fp16", "cuda_graph", "cudnn_benchmark",
    "ddp", "checkpointing", "tundish_muon",
}  # fmt: skip


def snapshot(step: Step) -> Any:
    flags = (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision())
    modules = [getattr(m, "inplace", None) for m in step.model.modules()]
    layout = [p.stride() for p in step.model.parameters()]
    groups = [{k: v for k, v in g.items() if k != "params"} for g in step.optimizer.param_groups]
    own = {k: v for k, v in vars(step).items() if isinstance(v, (bool, int, float, str, dict))}
    own.pop("main_signature", None)
    return flags, modules, layout, groups, own, str(step.autocast), step.scaler


def test_the_returned_loss_is_a_copy() -> None:
    step = Step(*made()[:3])
    batch = some_batches()[1]
    first = step(batch)
    value = float(first)
    step(batch)
    assert float(first) == value
    assert not first.requires_grad


def test_a_loss_may_take_the_model() -> None:
    model, optimizer, loss_fn, batch = made(jobs.own_loss)
    theirs = made(jobs.mlp)
    losses = [float(Step(model, optimizer, loss_fn)(batch)) for _ in range(3)]
    assert losses == plain_loop(theirs, [(batch["x"], batch["y"])] * 3)


def test_parts_of_a_batch_that_are_not_in_a_tuple_are_refused() -> None:
    model, optimizer, loss_fn, (inputs, targets) = made()
    step = Step(model, optimizer, loss_fn)
    before = weights(model)
    with pytest.raises(
        ArgumentError, match=r"takes one argument.*got 2\n  fix: .*step\(\(inputs, targets\)\)"
    ):
        step(inputs, targets)
    assert torch.equal(weights(model), before)
    assert torch.isfinite(step((inputs, targets)))


def test_bf16_lowers_the_precision_of_products() -> None:
    model, optimizer, loss_fn, batch = made()
    seen = []
    model[3].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    step = Step(model, optimizer, loss_fn)
    Bf16().apply(step)
    loss = step(batch)
    assert seen == [torch.bfloat16]
    assert loss.dtype == torch.float32
    assert all(p.dtype == torch.float32 for p in model.parameters())


def test_fused_momentum_starts_as_plain_sgd_does() -> None:
    ours, theirs = made(), made()
    step = Step(*ours[:3])
    FusedOptimizer().apply(step)
    plain_loop(theirs, some_batches(1))
    step(some_batches(1)[0])
    for a, b in zip(ours[0].parameters(), theirs[0].parameters()):
        one, other = (job[1].state[p]["momentum_buffer"] for job, p in ((ours, a), (theirs, b)))
        torch.testing.assert_close(one, other)


def test_a_learning_rate_scheduler_is_followed() -> None:
    ours, theirs = made(), made()
    step = Step(*ours[:3])
    FusedOptimizer().apply(step)
    schedulers = [torch.optim.lr_scheduler.StepLR(job[1], 2, 0.1) for job in (ours, theirs)]
    for batch in some_batches():
        step(batch)
        plain_loop(theirs, [batch])
        for scheduler in schedulers:
            scheduler.step()
    torch.testing.assert_close(weights(ours[0]), weights(theirs[0]), rtol=1e-4, atol=1e-6)
    assert ours[1].param_groups[0]["lr"] == theirs[1].param_groups[0]["lr"]


def test_tricks_are_applied_in_one_order() -> None:
    names = [kind.name for kind in TRICKS]
    assert len(set(names)) == len(names)
    shuffled = [Bf16(), FusedOptimizer(), ChannelsLast()]
    assert [t.name for t in in_order(shuffled)] == ["channels_last", "fused_optimizer", "bf16"]


@pytest.mark.parametrize("kind", TRICKS)
def test_a_trick_survives_a_json_round_trip(kind: type[Trick]) -> None:
    assert trick_from_json(kind().as_json()) == kind()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "unknown trick None"),
        ({"name": "warp"}, "unknown trick 'warp'"),
        ({"name": "compile", "speed": 9}, "trick 'compile' has no option 'speed'"),
    ],
)
def test_an_unknown_trick_is_named(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        trick_from_json(values)


def test_batches_are_split_by_samples() -> None:
    batch = {"x": torch.arange(10), "scale": torch.tensor(2.0), "name": "a"}
    assert samples_of(batch) == 10
    assert slice_samples(batch, 2, 4)["x"].tolist() == [2, 3]
    pieces = split_samples(batch, 3)
    assert [piece["x"].tolist() for piece, _ in pieces] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert sum(share for _, share in pieces) == pytest.approx(1)
    assert len(split_samples(batch, 99)) == 10


def test_a_checkpoint_of_channels_last_is_ordinary() -> None:
    """Saves with the trick and loads without it, and vice versa; fused kernels need one layout."""
    model, optimizer, loss_fn, batch = made()
    step = Step(model, optimizer, loss_fn)
    for trick in (ChannelsLast(), FusedOptimizer()):
        trick.apply(step)
    step(batch)
    saved = copy.deepcopy(optimizer.state_dict())
    assert all(v.is_contiguous() for s in saved["state"].values() for v in s.values())
    other = made()
    other[0].load_state_dict(model.state_dict())
    other[1].load_state_dict(copy.deepcopy(saved))  # load_state_dict() would share the tensors
    plain_loop(other, [batch])
    optimizer.load_state_dict(saved)
    step(batch)
    strides = [optimizer.state[p]["momentum_buffer"].stride() for p in model.parameters()]
    assert strides == [p.stride() for p in model.parameters()]
    torch.testing.assert_close(weights(model), weights(other[0]), rtol=1e-4, atol=1e-6)


def test_a_checkpoint_of_fused_kernels_is_ordinary() -> None:
    model, optimizer, loss_fn, batch = made()
    before = [dict(group) for group in optimizer.state_dict()["param_groups"]]
    step = Step(model, optimizer, loss_fn)
    FusedOptimizer().apply(step)
    step(batch)
    saved = copy.deepcopy(optimizer.state_dict())
    assert saved["param_groups"] == before
    optimizer.load_state_dict(saved)
    assert all(group["fused"] for group in optimizer.param_groups)
    step(batch)
    FusedOptimizer().undo(step)
    optimizer.load_state_dict(saved)
    assert not any(group["fused"] for group in optimizer.param_groups)


def test_layers_may_be_unfrozen_under_the_fused_optimizer() -> None:
    ours, theirs = made(), made()
    step = Step(*ours[:3])
    for model, *_ in (ours, theirs):
        model[0].requires_grad_(False)
    FusedOptimizer().apply(step)
    first, second = some_batches()[:3], some_batches()[3:]
    for batch in first:
        step(batch)
    plain_loop(theirs, first)
    for model, *_ in (ours, theirs):
        model[0].requires_grad_(True)
    for batch in second:
        step(batch)
    plain_loop(theirs, second)
    torch.testing.assert_close(weights(ours[0]), weights(theirs[0]), rtol=1e-4, atol=1e-5)


def test_foreach_kernels_need_a_learning_rate_that_is_a_number() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters(), torch.tensor(1e-3))
    step = Step(model, optimizer, nn.MSELoss())
    assert "tensor as learning rate" in ForeachOptimizer().obstacle(step)
    assert not FusedOptimizer().obstacle(step)
