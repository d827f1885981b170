"""Muon's implementation of torch's interface: states, copies, schedulers, scalers, bad input."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
import tundish
from torch import nn
from tundish import optim

from .muon_formula import matrices
from .muon_measures import all_equal, distance, momentum_of
from .test_against_torch import draw_gradients


def steps(optimizer: Any, parameters: list[nn.Parameter], first: int, count: int = 3) -> None:
    for step in range(first, first + count):
        draw_gradients(parameters, step=step)
        optimizer.step()


def saved(optimizer: Any) -> Any:
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    ("source", "target"),
    [(optim.Muon, torch.optim.Muon), (torch.optim.Muon, optim.Muon), (optim.Muon, optim.Muon)],
)
def test_states_can_be_exchanged_with_torchs_muon(source: Any, target: Any) -> None:
    first = matrices()
    writer = source(first, lr=0.02, nesterov=False, ns_steps=4)
    steps(writer, first, 0)
    second = [nn.Parameter(p.detach().clone()) for p in first]
    reader = target(second)
    reader.load_state_dict(saved(writer))
    assert reader.param_groups[0]["lr"] == 0.02
    assert reader.param_groups[0]["ns_steps"] == 4
    starts = [p.detach().double().clone() for p in second]
    steps(writer, first, 3)
    steps(reader, second, 3)
    assert all_equal(momentum_of(reader, second), momentum_of(writer, first))
    assert distance(second, [p.detach() for p in first], starts) <= 0.03


def test_a_loaded_state_continues_bitwise_and_shares_no_memory() -> None:
    first = matrices()
    writer = optim.Muon(first, lr=0.02)
    steps(writer, first, 0)
    second = [nn.Parameter(p.detach().clone()) for p in first]
    reader = optim.Muon(second)
    reader.load_state_dict(writer.state_dict())
    steps(reader, second, 3)
    steps(writer, first, 3)
    assert all_equal(second, first)


def test_a_momentum_with_other_memory_is_used_and_saved() -> None:
    """`buffer.data = buffer.data.to(device)` is how many scripts move the states of an optimizer."""
    ours, theirs = matrices(), matrices()
    optimizer, reference = optim.Muon(ours, lr=0.02), torch.optim.Muon(theirs, lr=0.02)
    for first in (0, 3):
        for one, parameters in ((optimizer, ours), (reference, theirs)):
            steps(one, parameters, first)
            for state in one.state.values():
                state["momentum_buffer"].data = 2 * state["momentum_buffer"].data
            steps(one, parameters, first + 20, 1)
    assert all_equal(momentum_of(optimizer, ours), momentum_of(reference, theirs))


def test_a_deep_copy_goes_on_alone() -> None:
    parameters = matrices()
    optimizer = optim.Muon(parameters, lr=0.02)
    steps(optimizer, parameters, 0)
    twin = copy.deepcopy(optimizer)
    copies = twin.param_groups[0]["params"]
    before = [p.detach().clone() for p in parameters]
    steps(twin, copies, 3)
    assert all_equal(parameters, before)
    steps(optimizer, parameters, 3)
    assert all_equal(parameters, copies)


def test_a_state_of_another_optimizer_is_refused() -> None:
    parameters = matrices()
    other = torch.optim.AdamW(parameters)
    steps(other, parameters, 0)
    with pytest.raises(tundish.ArgumentError, match="state of another optimizer"):
        optim.Muon(parameters).load_state_dict(other.state_dict())


def test_a_state_of_other_shapes_is_refused_by_name() -> None:
    parameters, others = [nn.Parameter(torch.ones(3, 4))], [nn.Parameter(torch.ones(1, 4))]
    other = optim.Muon(others)
    steps(other, others, 0)
    optimizer = optim.Muon(parameters)
    optimizer.load_state_dict(other.state_dict())
    draw_gradients(parameters, step=0)
    with pytest.raises(tundish.ArgumentError, match=r"momentum of parameter 0 of group 0 has"):
        optimizer.step()


@pytest.mark.parametrize("shape", [(4,), (), (8, 4, 3, 3)])
def test_a_parameter_that_is_not_a_matrix_is_refused_by_name(shape: tuple[int, ...]) -> None:
    good, bad = nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(shape))
    with pytest.raises(
        ValueError, match=r"parameter 1 of group 0 \(b\) has the shape(.|\n)*tundish.optim.AdamW"
    ):
        optim.Muon([("a", good), ("b", bad)])
    optimizer = optim.Muon([good])
    with pytest.raises(ValueError, match="parameter 0 of group 1 has the shape"):
        optimizer.add_param_group({"params": [bad]})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int32])
def test_other_types_are_refused_by_name(dtype: Any) -> None:
    bad = nn.Parameter(torch.ones(2, 2, dtype=dtype), requires_grad=False)
    with pytest.raises(tundish.ArgumentError, match=r"parameter 0 of group 0 is " + str(dtype)[6:]):
        optim.Muon([bad])


def test_a_sparse_gradient_is_refused_by_name() -> None:
    embedding = nn.Embedding(10, 4, sparse=True)
    optimizer = optim.Muon(embedding.named_parameters())
    embedding.weight.grad = torch.ones(10, 4)
    optimizer.step()
    embedding.weight.grad = None
    embedding(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(tundish.ArgumentError, match=r"parameter 0 of group 0 \(weight\) is sparse"):
        optimizer.step()


@pytest.mark.parametrize(
    "arguments",
    [
        {"lr": -1.0},
        {"lr": torch.ones(2)},
        {"momentum": -0.1},
        {"weight_decay": -0.1},
        {"adjust_lr_fn": "other"},
        {"ns_steps": 100},
        {"ns_coefficients": (1.0, 2.0)},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        optim.Muon([nn.Parameter(torch.ones(2, 2))], **arguments)


def test_a_group_that_is_refused_is_not_kept() -> None:
    own = matrices()[:2]
    optimizer = optim.Muon(own[:1])
    with pytest.raises(TypeError, match="momentum must be a number"):
        optimizer.add_param_group({"params": own[1:], "momentum": "0.9"})
    assert len(optimizer.param_groups) == 1
    draw_gradients(own, step=0)
    optimizer.step()


def test_added_and_removed_groups_are_followed() -> None:
    own = matrices()[:3]
    before = [p.detach().clone() for p in own]
    optimizer = optim.Muon(own[:1])
    draw_gradients(own, step=0)
    optimizer.step()
    group = optimizer.param_groups[0]
    optimizer.param_groups += [{**group, "params": [p]} for p in own[1:]]
    optimizer.step()
    assert not any(torch.equal(p, old) for p, old in zip(own, before))
    del optimizer.param_groups[1:]
    optimizer.step()


def test_closures_and_schedulers_are_supported() -> None:
    layer = nn.Linear(4, 3, bias=False)
    optimizer = optim.Muon(layer.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    inputs = torch.randn(8, 4)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = layer(inputs).square().mean()
        loss.backward()
        return loss

    first = optimizer.step(closure)
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.05
    assert optimizer.step(closure) < first


def scaled_gradients(parameters: list[nn.Parameter], scaler: Any, step: int) -> None:
    draw_gradients(parameters, step=step)
    scale = float(scaler.scale(torch.ones(())))
    for p in parameters:
        p.grad *= scale


@pytest.mark.parametrize("kind", [torch.amp.GradScaler, optim.GradScaler])
def test_a_grad_scaler_unscales_and_skips_steps(kind: Any) -> None:
    ours, plain = matrices(), matrices()
    optimizer, other = optim.Muon(ours, lr=0.02), optim.Muon(plain, lr=0.02)
    scaler = kind("cpu", init_scale=1024.0)
    for step in range(4):
        scaled_gradients(ours, scaler, step)
        if step == 2:
            assert ours[3].grad is not None
            ours[3].grad[0, 0] = float("inf")
            before = [p.detach().clone() for p in (*ours, *momentum_of(optimizer, ours))]
        scaler.step(optimizer)
        scaler.update()
        if step == 2:
            assert all_equal([*ours, *momentum_of(optimizer, ours)], before)
            continue
        draw_gradients(plain, step=step)
        other.step()
    assert scaler.get_scale() == 512.0
    assert all_equal(momentum_of(optimizer, ours), momentum_of(other, plain))
    for a, b in zip(ours, plain):  # the rate is fp32 with a scaler and fp64 without
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_gradients_that_are_already_unscaled_are_used_as_they_are() -> None:
    ours, plain = matrices(), matrices()
    optimizer, scaler = optim.Muon(ours, lr=0.02), torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaled_gradients(ours, scaler, 0)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    draw_gradients(plain, step=0)
    optim.Muon(plain, lr=0.02).step()
    for a, b in zip(ours, plain):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_a_grad_scaler_and_float16_are_refused_by_name() -> None:
    parameters = matrices(torch.float16)
    optimizer, scaler = optim.Muon(parameters), torch.amp.GradScaler("cpu", init_scale=4.0)
    scaled_gradients(parameters, scaler, 0)
    with pytest.raises(tundish.ArgumentError, match="parameter 0 of group 0 is float16"):
        scaler.step(optimizer)


def test_a_compiled_step_gives_the_same_weights() -> None:
    ours, plain = matrices()[:4], matrices()[:4]
    optimizer, other = optim.Muon(ours, lr=0.02), optim.Muon(plain, lr=0.02)

    @torch.compile(backend="aot_eager")  # type: ignore[untyped-decorator]
    def double_and_step(values: torch.Tensor) -> torch.Tensor:
        doubled = values * 2
        optimizer.step()
        return doubled + 1

    for step in range(4):
        draw_gradients(ours, plain, step=step)
        for one in (optimizer, other):
            one.param_groups[0]["lr"] = 0.02 / (1 + step)
        assert double_and_step(torch.ones(3)).tolist() == [3, 3, 3]
        other.step()
    assert all_equal(momentum_of(optimizer, ours), momentum_of(other, plain))
    assert all_equal(ours, plain)


def test_launches_do_not_grow_with_the_number_of_matrices() -> None:
    def products(count: int) -> int:
        parameters = [nn.Parameter(torch.ones(8, 16)) for _ in range(count)]
        parameters += [nn.Parameter(torch.ones(16, 8)) for _ in range(count)]
        optimizer = optim.Muon(parameters)
        steps(optimizer, parameters, 0, 1)
        draw_gradients(parameters, step=1)
        with torch.profiler.profile() as profile:
            optimizer.step()
        return sum(e.count for e in profile.key_averages() if e.key.startswith("aten::baddbmm"))

    # 5 iterations: X X^T for two shapes, (X X^T)^2 for both together, the update for two shapes
    assert products(1) == products(20) == 25
