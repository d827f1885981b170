"""Models and groups that flatten() refuses, and unusual ones that it accepts."""

import pytest
import torch
import tundish
from tundish import ArgumentError

from tests.helpers.flat_models import (
    SGD,
    flattened,
    net,
    train,
)


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


def test_invalid_groups_are_refused_by_name():
    model = net()
    twice = [{"params": model[0].parameters()}, {"params": [model[0].bias]}]
    with pytest.raises(ArgumentError, match=r"'0.bias' is in groups 0 and 1"):
        tundish.optim.flatten(model, twice)
    with pytest.raises(ArgumentError, match=r"group 0, tensor 0, shape \(33, 10\)"):
        tundish.optim.flatten(model, net().parameters())


def test_flattening_a_model_twice_is_refused():
    model, _, _ = flattened()
    with pytest.raises(ArgumentError, match="'weight' is already in a flat buffer"):
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
