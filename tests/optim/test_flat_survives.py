"""Operations that a flattened model survives: checkpoints, copies, failed passes, compilation."""

import copy
import gc
import io
import pickle
import warnings

import pytest
import timm.optim
import torch
import tundish
from torch.utils.checkpoint import checkpoint
from tundish import ArgumentError

from tests.helpers.flat_models import (
    SGD,
    batches,
    flattened,
    loss_of,
    net,
    plain,
    same,
    train,
    values,
)


def test_a_checkpoint_is_loaded_in_place():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=3)
    model.load_state_dict(net().state_dict())
    optimizer.state.clear()
    flat.check()
    assert same(train(model, optimizer), plain())


def test_moving_to_the_same_device_changes_nothing():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    model.to("cpu").float()
    flat.check()
    train(model, optimizer, steps=1)
    assert model[0].weight.data_ptr() == flat.buffers[0].parameter.data_ptr()


def test_a_deep_copy_is_a_plain_model():
    model, _, optimizer = flattened()
    train(model, optimizer, steps=2)
    twin = copy.deepcopy(model)
    before = values(model)
    assert same(before, values(twin))
    assert twin[0].weight.untyped_storage().nbytes() == 33 * 10 * 4
    train(twin, SGD[0](twin.parameters(), **SGD[1]), steps=2)
    assert same(before, values(model))
    again = tundish.optim.flatten(twin)
    train(twin, again.optimizer(SGD[0], **SGD[1]), steps=2)
    assert same(before, values(model))


@pytest.mark.parametrize("way", ["pickle", "torch.save"])
def test_a_pickled_model_is_a_model_that_trains(way):
    model, _, optimizer = flattened()
    train(model, optimizer, steps=2)
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(model))
    else:
        file = io.BytesIO()
        torch.save(model, file)
        twin = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert same(values(model), values(twin))
    flat = tundish.optim.flatten(twin)
    before = values(model)
    train(twin, flat.optimizer(SGD[0], **SGD[1]), steps=2)
    assert same(before, values(model))
    assert not same(before, values(twin))


def test_the_flat_parameters_are_neither_copied_nor_pickled():
    _, flat, _ = flattened()
    with pytest.raises(ArgumentError, match="flatten the copy"):
        copy.deepcopy(flat)
    with pytest.raises(ArgumentError, match="after loading"):
        pickle.dumps(flat)


def test_a_copy_of_model_and_optimizer_is_refused():
    """The copied optimizer would have separate tensors and train nothing."""
    model, flat, optimizer = flattened()
    with pytest.raises(ArgumentError, match="copy the model, flatten the copy"):
        copy.deepcopy((model, optimizer))
    for unwatched in (optimizer, SGD[0](flat.groups(), **SGD[1])):
        with pytest.raises(ArgumentError, match="cannot be pickled"):
            pickle.dumps(unwatched)
    copy.deepcopy(optimizer.state_dict())


@pytest.mark.parametrize("kind", [timm.optim.Lars, timm.optim.Lamb, tundish.optim.Muon])
def test_optimizers_that_need_each_tensor_are_refused(kind):
    flat = tundish.optim.flatten(torch.nn.Linear(4, 4))
    with pytest.raises(
        ArgumentError, match=rf"{kind.__name__} needs the norm or shape.*\n.*model.parameters"
    ):
        flat.optimizer(kind, lr=0.1)


def test_a_backward_pass_that_failed_leaves_nothing_behind():
    model, _, optimizer = flattened()
    fail = model[0].weight.register_hook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loss_of(model, batches(1)[0]).backward()
    fail.remove()
    assert same(train(model, optimizer), plain())


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing_works_with_flat_parameters(reentrant):
    def run(model, optimizer):
        for batch in batches():
            optimizer.zero_grad()
            hidden = checkpoint(model[:3], batch.requires_grad_(), use_reentrant=reentrant)
            model[3:](hidden).square().mean().backward()
            optimizer.step()
        return values(model)

    model, _, optimizer = flattened()
    assert same(run(model, optimizer), plain())


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")
def test_gradients_may_have_their_own_graph():
    def run(model, optimizer):
        for batch in batches(4):
            optimizer.zero_grad()
            loss_of(model, batch).backward(create_graph=True)
            loss_of(model, batch).backward()
            for parameter in model.parameters():
                parameter.grad = parameter.grad.detach()
            optimizer.step()
        return values(model)

    model, flat, _ = flattened()
    other = net()
    optimizer = SGD[0](model.parameters(), **SGD[1])
    assert same(run(model, optimizer), run(other, SGD[0](other.parameters(), **SGD[1])))
    flat.check()


def test_sparse_gradients_become_dense():
    class Words(torch.nn.Module):
        def __init__(self, sparse):
            super().__init__()
            torch.manual_seed(0)
            self.table = torch.nn.Embedding(20, 7, sparse=sparse)

        def forward(self, batch):
            return self.table((batch.abs() * 5).long().clamp(max=19))

    model, _, optimizer = flattened(lambda: Words(True))
    assert same(train(model, optimizer), plain(lambda: Words(False)))


def test_a_compiled_model_trains_with_flat_parameters():
    model, _, optimizer = flattened()
    fast = torch.compile(model, backend="aot_eager", fullgraph=True)
    for batch in batches():
        optimizer.zero_grad()
        loss_of(fast, batch).backward()
        optimizer.step()
    assert same(values(model), plain())


def test_shared_memory_moves_the_whole_buffer():
    model, flat, optimizer = flattened()
    model.share_memory()
    flat.check()
    assert same(train(model, optimizer), plain())


def test_the_optimizers_state_is_saved_and_loaded():
    model, _, optimizer = flattened()
    train(model, optimizer, steps=10)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    saved = torch.load(io.BytesIO(file.getvalue()))
    other, _, resumed = flattened(lambda: net(seed=5))
    other.load_state_dict(saved["model"])
    resumed.load_state_dict(saved["optimizer"])
    assert same(train(model, optimizer, steps=10), train(other, resumed, steps=10))


@pytest.mark.parametrize(
    "given", [lambda flat: flat.groups(), lambda flat: flat.parameters()], ids=["groups", "list"]
)
def test_an_optimizer_trains_when_the_flat_parameters_are_out_of_scope(given):
    def optimizer_of(model):
        return SGD[0](given(tundish.optim.flatten(model)), **SGD[1])

    model = net()
    optimizer = optimizer_of(model)
    gc.collect()
    assert same(train(model, optimizer), plain())
    with pytest.raises(ArgumentError, match="already in a flat buffer"):
        tundish.optim.flatten(model)
    del optimizer
    again = tundish.optim.flatten(model)
    train(model, again.optimizer(SGD[0], **SGD[1]), steps=2)


@pytest.mark.parametrize("kind", [torch.optim.SGD, tundish.optim.SGD, torch.optim.LBFGS])
@pytest.mark.parametrize("as_keyword", [False, True])
def test_the_first_closure_may_reach_only_parameters_without_a_hook(kind, as_keyword):
    def trained(flatten):
        torch.manual_seed(0)
        model = torch.nn.ModuleList(torch.nn.Linear(3, 3, bias=False) for _ in range(20))
        make = tundish.optim.flatten(model).optimizer if flatten else None
        optimizer = make(kind, lr=0.1) if make else kind(model.parameters(), lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = model[3](model[2](torch.ones(2, 3))).square().sum()
            loss.backward()
            return loss

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # clipping had no effect in this step
            losses = [
                optimizer.step(closure=closure) if as_keyword else optimizer.step(closure)
                for _ in range(3)
            ]
        return [loss.item() for loss in losses]

    assert trained(True) == pytest.approx(trained(False), rel=1e-5)


def test_unflatten_gives_every_tensor_its_own_memory():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    before, gradient = values(model), model[0].weight.grad.clone()
    flat.unflatten()
    flat.unflatten()
    assert same(values(model), before)
    assert torch.equal(model[0].weight.grad, gradient)
    assert model[0].weight.untyped_storage().nbytes() == 33 * 10 * 4
    with pytest.raises(ArgumentError, match="unflattened"):
        optimizer.step()
    with pytest.raises(ArgumentError, match="unflattened"):
        flat.check()
    model.load_state_dict(net().state_dict())
    again = tundish.optim.flatten(model)
    assert same(train(model, again.optimizer(SGD[0], **SGD[1])), plain())


def test_a_model_outlives_its_flat_parameters():
    model = net()
    tundish.optim.flatten(model)  # the result is not kept
    flat = tundish.optim.flatten(model)
    assert same(train(model, flat.optimizer(SGD[0], **SGD[1])), plain())


def test_a_new_frozen_part_is_allowed():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    model.append(torch.nn.Linear(7, 7).requires_grad_(False))
    flat.check()
    train(model, optimizer, steps=2)
    assert flat._check.is_unchanged()
