"""The engine and Python (engine_calls.py) inspect tensors with the same results and same steps."""

import random
import sys

import pytest
import torch
from tundish import optim
from tundish.optim._binding import engine_calls, torch_functions

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
    """Changes a parameter as users do between two steps."""
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


@pytest.mark.parametrize("kind", KINDS)
def test_both_probes_give_the_same_weights(kind, monkeypatch):
    found = []
    real = engine_calls._find
    monkeypatch.setattr(
        "tundish.optim._binding.engine_calls._find",
        lambda *arguments: found.append(real(*arguments)) or found[-1],
    )
    quick = [weights_after(kind, seed) for seed in range(12)]
    assert set(found) == {engine_calls.UNCHANGED, engine_calls.MOVED, engine_calls.DIFFERENT}
    count = len(found)
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", None)
    slow = [weights_after(kind, seed) for seed in range(12)]
    for one, other in zip(quick, slow):
        assert all(torch.equal(a, b) for a, b in zip(one, other))
    assert len(found) == count  # the second run did not call the engine


def bound(shape=(6, 4), dtype=torch.float32):
    parameters = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for _ in range(3)]
    optimizer = optim.SGD(parameters, 0.1, momentum=0.9)
    for parameter in parameters:
        parameter.grad = torch.randn(shape).to(dtype)
    optimizer.step()
    return parameters, optimizer._engine


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_probe_reports_differences(dtype):
    parameters, engine = bound(dtype=dtype)
    assert engine.find_gradients(parameters) == engine_calls.UNCHANGED
    kept = parameters[1].grad
    parameters[1].grad = kept.clone()
    assert engine.find_gradients(parameters) == engine_calls.MOVED
    assert engine.find_gradients(parameters) == engine_calls.UNCHANGED
    parameters[1].grad = None
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT
    parameters[1].grad = kept.t().contiguous().t()
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT  # another memory order
    parameters[1].grad = kept
    assert engine.find_gradients(parameters[:2]) == engine_calls.DIFFERENT
    assert engine.find_gradients([*parameters[:2], object()]) == engine_calls.DIFFERENT
    assert engine.find_gradients(parameters) == engine_calls.MOVED
    same = parameters[2].data
    parameters[2].data = same.view(4, 6)  # the same address and size
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT
    parameters[2].data = same.as_strided((6, 4), (1, 6))
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT
    parameters[2].data = same
    assert engine.find_gradients(parameters) == engine_calls.UNCHANGED
    twin = torch.nn.Parameter(same)
    twin.grad = parameters[2].grad
    assert engine.find_gradients([*parameters[:2], twin]) == engine_calls.DIFFERENT
    parameters[2].data = same[:2]  # the same address
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT


def test_a_sparse_gradient_is_different_and_then_refused_by_name(capfd):
    parameters, engine = bound()
    optimizer = optim.SGD([("first.weight", parameters[0])], 0.1)
    optimizer.step()
    parameters[0].grad = parameters[0].grad.to_sparse()
    assert engine.find_gradients(parameters) == engine_calls.DIFFERENT
    with pytest.raises(ValueError, match=r"first\.weight\) is sparse"):
        optimizer.step()
    assert capfd.readouterr().err == ""  # torch's functions print internal errors


def test_autograd_notices_a_step_between_forward_and_backward():
    """Covers the first step, which binds, and later steps."""
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([weight], 0.5)
    weight.grad = torch.ones(3)
    for steps in range(1, 4):
        version = weight._version
        loss = (weight * weight).sum()
        optimizer.step()
        assert weight._version == version + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        assert steps == optimizer._calls


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
def test_parameters_without_gradients_keep_their_version(table, monkeypatch):
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    models = [torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)) for _ in range(2)]
    optimizer = optim.SGD([p for model in models for p in model.parameters()], 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        first, second = (model(torch.ones(2, 3)).sum() for model in models)
        first.backward()
        optimizer.step()
        optimizer.step()
        second.backward()
        assert all(p.grad is not None for p in models[1].parameters())


def through_a_conjugate(parameter):
    numbers = torch.complex(torch.ones_like(parameter), parameter)
    return (numbers.conj() * torch.tensor(2 + 3j)).real.sum()


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
@pytest.mark.parametrize("shape", [(), (1,), (4,)])
@pytest.mark.parametrize("dense", [False, True])
def test_negated_gradients_have_their_sign(shape, dense, table, monkeypatch):
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    parameter = torch.nn.Parameter(torch.ones(shape))
    optimizer = optim.SGD([parameter], 1.0)
    for number in range(4):
        optimizer.zero_grad()
        through_a_conjugate(parameter).backward()
        assert parameter.grad.is_neg() == (parameter.numel() == 1)  # torch copies others
        if dense:
            parameter.grad = torch._neg_view(torch.full(shape, -3.0))
        if number == 2:
            parameter.grad = torch.full(shape, 3.0)
        optimizer.step()
    assert torch.equal(parameter.detach(), torch.full(shape, -11.0))


def test_a_negated_parameter_is_refused_by_name():
    parameter = torch.nn.Parameter(torch.tensor([1 + 2j]).conj().imag)
    optimizer = optim.SGD([("gate", parameter)], 1.0)
    parameter.grad = torch.ones(1)
    with pytest.raises(ValueError, match=r"\(gate\) is a negated view"):
        optimizer.step()
    parameter.data = parameter.data.resolve_neg()
    optimizer.step()
    assert parameter.tolist() == [-3]


class Derived(torch.nn.Parameter):
    """A parameter class whose gradient is not where C++ expects it."""

    @property
    def grad(self):
        return self.elsewhere

    @grad.setter
    def grad(self, value):
        self.elsewhere = value


def test_parameter_subclasses_are_probed_in_python():
    parameter = Derived(torch.ones(3))
    optimizer = optim.SGD([parameter], 0.5)
    for _ in range(3):
        parameter.grad = torch.ones(3)
        optimizer.step()
    assert parameter.tolist() == [-0.5] * 3
    assert optimizer._engine.find_gradients([parameter]) == engine_calls.DIFFERENT


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
def test_replaced_gradients_are_detected(table, monkeypatch):
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    parameters = [torch.nn.Parameter(torch.ones(n + 1)) for n in range(4)]
    views = [torch.zeros_like(parameter) for parameter in parameters]
    for parameter, view in zip(parameters, views):
        assert not engine_calls.gradients_match(parameters, views, plain=True)
        parameter.grad = view
    assert engine_calls.gradients_match(parameters, views, plain=True)
    parameters[2].grad = parameters[2].grad.clone()
    assert not engine_calls.gradients_match(parameters, views, plain=True)
    parameters[2].grad = None
    assert not engine_calls.gradients_match(parameters, views, plain=True)


@pytest.mark.parametrize("table", [torch_functions.TABLE, None])
def test_replaced_values_are_detected(table, monkeypatch):
    monkeypatch.setattr("tundish.optim._binding.engine_calls.TABLE", table)
    held = {name: {} for name in "abc"}
    values = list(held.values())
    assert engine_calls.values_match(held, values)
    assert not engine_calls.values_match(held, values[:2])
    assert not engine_calls.values_match({}, values)
    assert not engine_calls.values_match({**held, "d": {}}, values)
    held["b"] = {}  # equal but not identical
    assert not engine_calls.values_match(held, values)


def test_an_incompatible_torch_disables_the_function_table(monkeypatch):
    assert torch_functions._make_table() is not None
    real = torch_functions._Torch.get
    monkeypatch.setattr(
        torch_functions._Torch,
        "get",
        lambda self, what, *words: real(self, what, *words) if what != "data_ptr" else 64,
    )
    assert torch_functions._make_table() is None
    monkeypatch.undo()
    monkeypatch.setattr(torch_functions, "_TORCH_FUNCTIONS", ("no_such_function",))
    assert torch_functions._make_table() is None


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


def python_work(step):
    """Counts the bytecode instructions of a call; loops inside C functions do not count."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("kind", "flat"), [*((kind, False) for kind in KINDS), ("sgd", True), ("adamw", True)]
)
def test_the_python_work_of_a_step_is_independent_of_the_number_of_tensors(kind, flat):
    work = []
    for number in (3, 40):
        model = torch.nn.ParameterList(torch.ones(4) for _ in range(number))
        optimizer = optim.flatten(model).optimizer(KINDS[kind]) if flat else KINDS[kind](model)
        for _ in range(3):  # the first step binds; the second is fast with moved gradients
            optimizer.zero_grad()
            sum(parameter.sum() for parameter in model).backward()
            taken = python_work(optimizer.step)
        work.append(taken)
        assert optimizer.param_groups[0]["params"][0].grad is not None
    assert work[0] == work[1] > 100
