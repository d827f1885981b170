"""Operations refused after flatten(), with the name of the parameter."""

import pytest
import torch
import tundish
from tundish import ArgumentError

from tests.helpers.flat_models import (
    SGD,
    batches,
    flattened,
    loss_of,
    net,
    same,
    train,
    values,
)


def refused_at_the_step(model, optimizer, *words):
    """Sets gradients by hand, because the fault may change the types that the model accepts."""
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
    assert flat._check.is_unchanged()
    change(model)
    assert not flat._check.is_unchanged()
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


@pytest.mark.parametrize("fault", ["assign", "module added", "module replaced"])
def test_flattening_again_fixes_the_model(fault):
    model, flat, optimizer = flattened()
    train(model, optimizer, steps=2)
    FAULTS[fault][0](model)
    flat.unflatten()
    before = values(model)
    again = tundish.optim.flatten(model)
    assert same(values(model), before)
    train(model, again.optimizer(SGD[0], **SGD[1]), steps=2)
    assert not same(values(model), before)


def test_a_model_of_another_type_is_flattened_again():
    model, flat, _ = flattened()
    model.double()
    flat.unflatten()
    again = tundish.optim.flatten(model)
    again.check()
    assert [buffer.dtype for buffer in again.buffers] == [torch.float64]


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


def test_freezing_a_part_while_another_optimizer_steps_is_allowed():
    """A GAN freezes its discriminator in this way while the generator trains."""
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


def test_an_optimizer_that_clears_only_the_flat_gradient_is_refused():
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


def test_a_gradient_moved_to_other_memory_is_refused_by_name():
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
