"""Gradients found by the engine (looking.py) and by the lists of Python: the same steps, whatever happens to tensors."""

import random

import pytest
import torch
from tundish import optim
from tundish.optim import looking

KINDS = {
    "sgd": lambda p: optim.SGD(p, 0.1, momentum=0.9),
    "adamw": lambda p: optim.AdamW(p, 1e-2),
    "lamb": lambda p: optim.LAMB(p, 1e-2),
}
SHAPES = [(7, 5), (3,), (), (2, 3, 4), (1, 6), (4, 4)]


def fresh_gradient(parameter, draw):
    return torch.randn(parameter.shape, generator=draw)


def transposed_gradient(parameter, draw):
    order = tuple(reversed(range(parameter.dim())))
    return torch.randn(tuple(reversed(parameter.shape)), generator=draw).permute(order)


def same_memory(parameter, draw):
    if parameter.grad is None:
        return fresh_gradient(parameter, draw)
    return parameter.grad.copy_(torch.randn(parameter.shape, generator=draw))


def strange_thing(parameter, choose):
    """What people do to parameters between two steps."""
    what = choose.randrange(4)
    if what == 0:
        parameter.data = parameter.data.clone()
    elif what == 1 and parameter.grad is not None:
        parameter.grad.data = parameter.grad.data.clone()
    elif what == 2:
        parameter.requires_grad_(not parameter.requires_grad).requires_grad_(True)
    elif parameter.dim() == 2:
        parameter.data = parameter.data.t().contiguous().t()


def weights_after(kind, seed, steps=40):
    choose, draw = random.Random(seed), torch.Generator().manual_seed(seed)
    parameters = [torch.nn.Parameter(torch.randn(shape, generator=draw)) for shape in SHAPES]
    optimizer = KINDS[kind](parameters)
    for _ in range(steps):
        for parameter in parameters:
            make = choose.choice([fresh_gradient, transposed_gradient, same_memory, same_memory])
            gone = choose.random() < 0.1
            parameter.grad = None if gone else make(parameter, draw)
        if choose.random() < 0.3:
            strange_thing(choose.choice(parameters), choose)
        optimizer.step()
    return [parameter.detach().clone() for parameter in parameters]


@pytest.mark.skipif(looking.EXCHANGE is None, reason="this torch has no DLPack table")
@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_of_looking_give_the_same_weights(kind, monkeypatch):
    found = []
    real = looking.find_gradients
    monkeypatch.setattr(
        "tundish.optim._engine.find_gradients",
        lambda handle, tensors: found.append(real(handle, tensors)) or found[-1],
    )
    quick = [weights_after(kind, seed) for seed in range(12)]
    assert set(found) == {looking.UNCHANGED, looking.MOVED, looking.DIFFERENT}
    monkeypatch.setattr("tundish.optim.looking.EXCHANGE", None)
    slow = [weights_after(kind, seed) for seed in range(12)]
    for one, other in zip(quick, slow):
        assert all(torch.equal(a, b) for a, b in zip(one, other))
    assert found[-1] == looking.DIFFERENT  # the second time nothing was found quickly


def bound(shape=(6, 4), dtype=torch.float32):
    parameters = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for _ in range(3)]
    optimizer = optim.SGD(parameters, 0.1, momentum=0.9)
    for parameter in parameters:
        parameter.grad = torch.randn(shape).to(dtype)
    optimizer.step()
    return parameters, optimizer._engine


@pytest.mark.skipif(looking.EXCHANGE is None, reason="this torch has no DLPack table")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_different_is_told(dtype):
    parameters, engine = bound(dtype=dtype)
    assert engine.find_gradients(parameters) == looking.UNCHANGED
    kept = parameters[1].grad
    parameters[1].grad = kept.clone()
    assert engine.find_gradients(parameters) == looking.MOVED
    assert engine.find_gradients(parameters) == looking.UNCHANGED
    parameters[1].grad = None
    assert engine.find_gradients(parameters) == looking.DIFFERENT
    parameters[1].grad = kept.t().contiguous().t()
    assert engine.find_gradients(parameters) == looking.DIFFERENT  # another order
    parameters[1].grad = kept
    assert engine.find_gradients(parameters[:2]) == looking.DIFFERENT
    assert engine.find_gradients([*parameters[:2], object()]) == looking.DIFFERENT
    parameters[2].data = parameters[2].data[:2]  # the same address
    assert engine.find_gradients(parameters) == looking.DIFFERENT


def test_hooks_closures_and_the_profiler_see_a_step():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([parameter], 0.5)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))

    def closure():
        seen.append("closure")
        parameter.grad = torch.ones(3)
        return torch.tensor(2.0)

    assert optimizer.step(closure).item() == 2
    assert seen == ["before", "closure", "after"]
    assert parameter.tolist() == [0.5] * 3
    with torch.profiler.profile() as profile:
        optimizer.step()
    names = [event.key for event in profile.key_averages()]
    assert "Optimizer.step#SGD.step" in names
    assert seen[3:] == ["before", "after"]


def test_a_hook_may_replace_the_arguments():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([parameter], 0.5)
    parameter.grad = torch.ones(3)
    optimizer.register_step_pre_hook(lambda own, args, words: ((own, lambda: 7), {}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()
