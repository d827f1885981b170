"""What happens to a flattened model: what it survives, and what is refused with the name of the parameter."""

import copy
import io
import pickle

import pytest
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


def refused_at_the_step(model, optimizer, *words):
    """The model may take other types after the fault: the gradients are made by hand."""
    optimizer.zero_grad()
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.ones_like(parameter)
    before = values(model)
    with pytest.raises(ArgumentError) as error:
        optimizer.step()
    for word in words:
        assert word in str(error.value)
    assert model[0].weight.is_meta or same(values(model), before)


# --- what it survives ---------------------------------------------------------------------------


def test_a_checkpoint_is_loaded_in_place():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=3)
    model.load_state_dict(net().state_dict())
    optimizer.state.clear()
    flat.check()
    assert same(train(model, optimizer), plain())


def test_a_move_that_moves_nothing_is_no_change():
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


def test_a_backward_pass_that_failed_leaves_nothing_behind():
    model, _, optimizer = flattened()
    fail = model[0].weight.register_hook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loss_of(model, batches(1)[0]).backward()
    fail.remove()
    assert same(train(model, optimizer), plain())


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing(reentrant):
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
def test_gradients_with_a_graph_of_their_own():
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


def test_a_compiled_model():
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


def test_the_optimisers_state_is_saved_and_loaded():
    model, _, optimizer = flattened()
    train(model, optimizer, steps=10)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    saved = torch.load(io.BytesIO(file.getvalue()))
    other, _, resumed = flattened(lambda: net(seed=5))
    other.load_state_dict(saved["model"])
    resumed.load_state_dict(saved["optimizer"])
    assert same(train(model, optimizer, steps=10), train(other, resumed, steps=10))


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
    tundish.optim.flatten(model)  # nothing holds the result
    flat = tundish.optim.flatten(model)
    assert same(train(model, flat.optimizer(SGD[0], **SGD[1])), plain())


def test_a_new_frozen_part_is_no_fault():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    model.append(torch.nn.Linear(7, 7).requires_grad_(False))
    flat.check()
    train(model, optimizer, steps=2)
    assert flat._watch.looks_right()


# --- what is refused, by name ---------------------------------------------------------------------


def set_data(model):
    model[2].bias.data = model[2].bias.data.clone()


def remove_bias(model):
    del model[4].bias


FAULTS = {
    "double": (lambda model: model.double(), "'0.weight'", "torch.float64"),
    "half": (lambda model: model.half(), "'0.weight'", "torch.float16"),
    "meta": (lambda model: model.to("meta"), "'0.weight'", "replaced"),
    "part of it moved": (lambda model: model[3].bfloat16(), "'3.weight'", "torch.bfloat16"),
    "data replaced": (set_data, "'2.bias'", "no longer has its memory"),
    "assign": (
        lambda model: model.load_state_dict(net(seed=3).state_dict(), assign=True),
        "'0.weight'",
        "assign=True",
    ),
    "parameter replaced": (
        lambda model: setattr(model[4], "bias", torch.nn.Parameter(torch.zeros(7))),
        "'4.bias'",
        "replaced",
    ),
    "table written": (
        lambda model: model[4]._parameters.update(bias=torch.nn.Parameter(torch.zeros(7))),
        "'4.bias'",
        "replaced",
    ),
    "parameter removed": (remove_bias, "'4.bias'", "removed"),
    "module replaced": (
        lambda model: model.__setitem__(4, torch.nn.Linear(33, 7)),
        "'4.weight'",
        "replaced",
    ),
    "module added": (
        lambda model: model.append(torch.nn.Linear(7, 7)),
        "'5.weight'",
        "after flatten()",
    ),
    "parameter added": (
        lambda model: model[1].register_parameter("scale", torch.nn.Parameter(torch.ones(1))),
        "'1.scale'",
        "after flatten()",
    ),
    "frozen": (lambda model: model[2].requires_grad_(False), "'2.weight'", "was frozen"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_change_is_refused_by_name(fault):
    change, *words = FAULTS[fault]
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    assert flat._watch.looks_right()
    change(model)
    assert not flat._watch.looks_right()
    with pytest.raises(ArgumentError) as error:
        flat.check()
    for word in (*words, "fix: "):
        assert word in str(error.value)
    refused_at_the_step(model, optimizer, *words)


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("fault", ["double", "assign"])
def test_a_change_between_zero_grad_and_the_forward_pass_is_refused_by_name(fault, set_to_none):
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    flat.zero_grad(set_to_none=set_to_none)
    FAULTS[fault][0](model)

    def go_on():
        for batch in batches(2):
            model(batch.to(model[0].weight.dtype)).sum().backward()
            optimizer.step()

    with pytest.raises(ArgumentError, match=r"'0.weight'"):
        go_on()


def test_zero_grad_refuses_a_model_of_another_type():
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    optimizer.zero_grad()
    model.double()
    with pytest.raises(ArgumentError, match=r"'0.weight' is torch.float64"):
        flat.zero_grad()


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_change_is_noticed_in_an_ordinary_loop(is_watched):
    model = net()
    flat = tundish.optim.flatten(model)
    optimizer = SGD[0](flat.groups(), **SGD[1])
    if is_watched:
        flat.watch(optimizer)
    train(model, optimizer, model.zero_grad, steps=2)
    model.load_state_dict(net(seed=3).state_dict(), assign=True)
    with pytest.raises(ArgumentError, match=r"'0.weight' was replaced"):
        train(model, optimizer, model.zero_grad, steps=1)


def test_a_part_that_is_trained_later_is_refused():
    model = net()
    model[2].requires_grad_(False)
    flat = tundish.optim.flatten(model)
    optimizer = flat.optimizer(SGD[0], **SGD[1])
    train(model, optimizer, steps=2)
    model[2].requires_grad_(True)
    with pytest.raises(ArgumentError, match=r"'2.weight' was frozen when"):
        train(model, optimizer, steps=1)


def test_a_part_that_is_frozen_while_another_optimiser_steps_is_no_fault():
    """As the discriminator of a GAN is while the generator trains."""
    model = net()
    parts = [{"params": model[:3].parameters()}, {"params": model[3:].parameters()}]
    flat = tundish.optim.flatten(model, parts)
    first, second = (flat.watch(torch.optim.SGD([group], lr=0.1)) for group in flat.groups())
    model[3:].requires_grad_(False)
    before = values(model)
    first.zero_grad()
    loss_of(model, batches(1)[0]).backward()
    first.step()
    assert torch.equal(values(model)["4.weight"], before["4.weight"])
    assert not torch.equal(values(model)["0.weight"], before["0.weight"])
    second.zero_grad()
    loss_of(model, batches(1)[0]).backward()
    with pytest.raises(ArgumentError, match=r"'3.weight' was frozen"):
        second.step()


def test_an_optimiser_that_clears_only_the_flat_gradient_is_refused():
    model = net()
    flat = tundish.optim.flatten(model)
    optimizer = SGD[0](flat.groups(), **SGD[1])  # watched from its first step on
    loss_of(model, batches(1)[0]).backward()
    optimizer.zero_grad()
    with pytest.raises(ArgumentError, match=r"flat\.watch\(optimizer\)"):
        train(model, optimizer, steps=1)


@pytest.mark.parametrize("after_a_step", [True, False])
def test_gradients_that_come_too_late_for_a_scaler_are_refused(after_a_step):
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    if not after_a_step:
        loss_of(model, batches(1)[0]).backward()
    model[3].bias.grad = torch.ones(33)
    with pytest.raises(ArgumentError, match=r"'3.bias' is not in the flat buffer"):
        optimizer.step()
    flat.gather()
    optimizer.step()
    assert (
        model[3].bias.grad.data_ptr()
        == flat.buffers[0].gradient[flat.buffers[0].ranges[5][0] :].data_ptr()
    )


def test_one_gradient_that_was_replaced_by_zeros_of_its_size_is_refused():
    model = torch.nn.Linear(4, 1)
    optimizer = tundish.optim.flatten(model).optimizer(SGD[0], **SGD[1])
    model(torch.ones(2, 4)).sum().backward()
    model.bias.grad = torch.zeros(1)
    with pytest.raises(ArgumentError, match="'bias' is not in the flat buffer"):
        optimizer.step()


def test_other_memory_under_a_gradient_is_refused_by_name():
    model, _, optimizer = flattened()
    train(model, optimizer, steps=2)
    model[2].weight.grad.data = torch.ones(33, 33)
    with pytest.raises(ArgumentError, match=r"'2.weight' has a gradient with other memory"):
        train(model, optimizer, lambda: None, steps=1)


def test_the_state_of_other_tensors_is_refused():
    model, _, optimizer = flattened()
    train(model, optimizer, steps=2)
    other = net()
    theirs = SGD[0]([*other.parameters()][:1], **SGD[1])
    train(other, theirs, steps=2)
    with pytest.raises(ArgumentError, match="'momentum_buffer' has 330 elements"):
        optimizer.load_state_dict(theirs.state_dict())


def test_watch_refuses_what_it_cannot_follow():
    model, flat, _ = flattened()
    with pytest.raises(ArgumentError, match=r"the parameter '0.weight' itself"):
        flat.watch(SGD[0](model.parameters(), **SGD[1]))
    with pytest.raises(ArgumentError, match="none of the flat parameters"):
        flat.watch(SGD[0](net().parameters(), **SGD[1]))


# --- what cannot be flattened ---------------------------------------------------------------------


def shared_memory():
    model = net(10)
    model[2].weight = torch.nn.Parameter(model[0].weight.data)
    return model


def with_gaps():
    model = net()
    model[4].bias = torch.nn.Parameter(torch.zeros(14)[::2])
    return model


def expanded():
    model = net()
    model[4].bias = torch.nn.Parameter(torch.zeros(1).expand(7))
    return model


class Special(torch.nn.Parameter):
    pass


def special():
    model = net()
    model[4].bias = Special(torch.zeros(7))
    return model


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.nn.Sequential(torch.nn.LazyLinear(3)), "'0.weight' has no shape yet"),
        (lambda: net().to("meta"), "'0.weight' is on the meta device"),
        (with_gaps, r"'4.bias' has gaps or overlaps in memory \(strides \(2,\)\)"),
        (expanded, "'4.bias' has gaps or overlaps"),
        (shared_memory, "'0.weight' and '2.weight' share memory"),
        (special, "'4.bias' is a Special"),
        (lambda: net().requires_grad_(False), "no parameter that requires a gradient"),
        (lambda: [torch.nn.Parameter(torch.ones(3))], "not list"),
    ],
)
def test_models_that_cannot_be_flattened_are_refused_by_name(make, words):
    with pytest.raises(ArgumentError, match=words):
        tundish.optim.flatten(make())


def test_groups_that_make_no_sense_are_refused_by_name():
    model = net()
    twice = [{"params": model[0].parameters()}, {"params": [model[0].bias]}]
    with pytest.raises(ArgumentError, match=r"'0.bias' is in groups 0 and 1"):
        tundish.optim.flatten(model, twice)
    with pytest.raises(ArgumentError, match=r"group 0, tensor 0, shape \(33, 10\)"):
        tundish.optim.flatten(model, net().parameters())


def test_a_model_is_flattened_once():
    model, _, _ = flattened()
    with pytest.raises(ArgumentError, match="'weight' is in a flat buffer already"):
        tundish.optim.flatten(model[0])


def test_parameters_in_no_group_are_left_alone():
    model = net()
    place = model[4].weight.data_ptr()
    flat = tundish.optim.flatten(model, model[0].named_parameters())
    train(model, flat.optimizer(SGD[0], **SGD[1]), steps=2)
    assert model[4].weight.data_ptr() == place
    assert flat.buffers[0].names == ["0.weight", "0.bias"]


def test_empty_tensors_have_an_empty_range():
    model = net()
    model.register_parameter("none", torch.nn.Parameter(torch.zeros(0, 3)))
    flat = tundish.optim.flatten(model)
    train(model, flat.optimizer(SGD[0], **SGD[1]), steps=2)
    assert flat.buffers[0].ranges[flat.buffers[0].names.index("none")] == (0, 0)
    flat.check()
