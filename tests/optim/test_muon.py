"""Muon against torch.optim.Muon, and both against the formula in fp64.

The iterations run in bfloat16 and amplify roundings, so two implementations differ by about 1 % of
one update. The momentum is bitwise equal. Distances between weights are fractions of the way from
the start to the formula's weights.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from tundish import optim
from tundish.optim._muon import matrix_stacks, newton_schulz

from .muon_formula import COEFFICIENTS, matrices, orthogonalize_by_formula, step_by_formula
from .muon_measures import all_equal, distance, momentum_of
from .test_against_torch import draw_gradients

CASES: list[dict[str, Any]] = [
    {},
    {"nesterov": False},
    {"adjust_lr_fn": "original", "weight_decay": 0.5},
    {"adjust_lr_fn": "match_rms_adamw"},
    {"ns_steps": 3},
    {"weight_decay": 0.0, "momentum": 0.5},
    {"lr": torch.tensor(0.02)},
]


@pytest.mark.parametrize("case", CASES)
def test_200_steps_equal_torchs_and_the_formula(case: dict[str, Any]) -> None:
    given = {"lr": 0.02, **case}
    ours, theirs = matrices(), matrices()
    optimizer, reference = optim.Muon(ours, **given), torch.optim.Muon(theirs, **given)
    starts = [p.detach().double().clone() for p in ours]
    states = [{"weights": s, "momentum": torch.zeros_like(s)} for s in starts]
    for step in range(200):
        draw_gradients(ours, theirs, step=step)
        for state, p in zip(states, ours):
            assert p.grad is not None
            step_by_formula(state, p.grad.double(), **{**given, "lr": float(given["lr"])})
        optimizer.step()
        reference.step()
    exact = [state["weights"] for state in states]
    assert all_equal(momentum_of(optimizer, ours), momentum_of(reference, theirs))
    assert distance(ours, exact, starts) <= 0.03
    assert distance(ours, exact, starts) <= 1.5 * distance(theirs, exact, starts)
    assert distance(ours, [p.detach() for p in theirs], starts) <= 0.03


@pytest.mark.parametrize("shape", [(2, 64, 64), (3, 40, 160), (3, 160, 40)])
def test_one_orthogonalization_equals_the_formula(shape: tuple[int, ...]) -> None:
    stack = torch.randn(shape, generator=torch.Generator().manual_seed(3)).bfloat16()
    exact = torch.stack([orthogonalize_by_formula(one) for one in stack])
    (ours,) = newton_schulz.orthogonalize([stack], COEFFICIENTS, 5, 1e-7)
    assert float((ours.double() - exact).norm() / exact.norm()) < 0.03
    singular = torch.linalg.svdvals(ours.double())
    assert singular.max() < 1.3
    if shape[1] != shape[2]:  # square matrices have singular values near 0 from the start
        assert singular.min() > 0.3


def test_without_iterations_the_step_is_bitwise_equal_to_torchs() -> None:
    ours, theirs = matrices(), matrices()
    optimizer = optim.Muon(ours, lr=0.02, ns_steps=0)
    reference = torch.optim.Muon(theirs, lr=0.02, ns_steps=0)
    for step in range(20):
        draw_gradients(ours, theirs, step=step)
        optimizer.step()
        reference.step()
    assert all_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes_train_like_torch(dtype: torch.dtype) -> None:
    ours, theirs = matrices(dtype), matrices(dtype)
    starts = [p.detach().double().clone() for p in ours]
    optimizer, reference = optim.Muon(ours, lr=0.02), torch.optim.Muon(theirs, lr=0.02)
    for step in range(20):
        draw_gradients(ours, theirs, step=step)
        optimizer.step()
        reference.step()
    assert all_equal(momentum_of(optimizer, ours), momentum_of(reference, theirs))
    assert all(p.dtype == dtype for p in momentum_of(optimizer, ours))
    # Weights that differ by one rounding, 2^-9 of a weight, drift further apart in every step.
    limit = 0.1 if dtype == torch.bfloat16 else 0.03
    assert distance(ours, [p.detach() for p in theirs], starts) <= limit


def test_the_first_coefficient_may_be_0() -> None:
    ours, theirs = matrices(), matrices()
    given: dict[str, Any] = {"lr": 0.02, "ns_coefficients": (0.0, 1.5, -0.5), "ns_steps": 1}
    optimizer, reference = optim.Muon(ours, **given), torch.optim.Muon(theirs, **given)
    starts = [p.detach().double().clone() for p in ours]
    draw_gradients(ours, theirs, step=0)
    optimizer.step()
    reference.step()
    assert distance(ours, [p.detach() for p in theirs], starts) <= 0.01


def test_maximize_equals_negated_gradients() -> None:
    up, down = matrices(), matrices()
    draw_gradients(up, down, step=0)
    for p in up:
        assert p.grad is not None
        p.grad.neg_()
    optim.Muon(up, maximize=True).step()
    optim.Muon(down).step()
    assert all_equal(up, down)


def test_a_batch_over_the_limit_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, split = matrices(), matrices()
    starts = [p.detach().double().clone() for p in whole]
    for parameters, limit in ((whole, 1 << 27), (split, 300)):
        monkeypatch.setattr(matrix_stacks, "LARGEST_BATCH", limit)
        optimizer = optim.Muon(parameters, lr=0.02)
        for step in range(3):
            draw_gradients(parameters, step=step)
            optimizer.step()
    (plan,) = optimizer._plans
    assert plan is not None
    counts = [[len(stack.parameters) for stack in batch] for batch in plan.batches]
    assert counts == [[2, 1], [1], [1], [1], [1], [1], [1]]
    assert distance(split, [p.detach() for p in whole], starts) <= 0.01


def test_a_nan_does_not_spread_to_other_matrices() -> None:
    ours, clean = matrices(), matrices()
    optimizer, other = optim.Muon(ours), optim.Muon(clean)
    draw_gradients(ours, clean, step=0)
    assert ours[0].grad is not None
    ours[0].grad[1, 1] = float("nan")
    optimizer.step()
    other.step()
    assert ours[0].isnan().all()
    assert all_equal(ours[1:], clean[1:])


def test_groups_have_their_own_arguments() -> None:
    ours, theirs = matrices(), matrices()
    optimizer, reference = (
        kind(
            [{"params": of[:4], "lr": 0.01}, {"params": []}, {"params": of[4:], "ns_steps": 0}],
            lr=0.02,
        )
        for kind, of in ((optim.Muon, ours), (torch.optim.Muon, theirs))
    )
    starts = [p.detach().double().clone() for p in ours]
    for step in range(5):
        draw_gradients(ours, theirs, step=step)
        optimizer.step()
        reference.step()
    assert distance(ours, [p.detach() for p in theirs], starts) <= 0.03
    assert all_equal(ours[4:], theirs[4:])


def test_a_parameter_without_a_gradient_is_left_alone() -> None:
    ours, theirs = matrices(), matrices()
    starts = [p.detach().double().clone() for p in ours]
    optimizer, reference = optim.Muon(ours, lr=0.02), torch.optim.Muon(theirs, lr=0.02)
    for step, leave_out in enumerate([(0, 5), (), (2, 7), (2, 7), tuple(range(9)), ()]):
        draw_gradients(ours, theirs, step=step, leave_out=leave_out)
        before = [p.detach().clone() for p in ours]
        optimizer.step()
        reference.step()
        assert all_equal([ours[i] for i in leave_out], [before[i] for i in leave_out])
        assert optimizer.state_dict()["state"].keys() == reference.state_dict()["state"].keys()
        for i in leave_out:  # its buffer does not share storage with the other matrices
            for buffer in optimizer.state.get(ours[i], {}).values():
                assert (
                    len(leave_out) == len(ours)
                    or buffer.untyped_storage().nbytes() == buffer.nbytes
                )
    assert all_equal(momentum_of(optimizer, ours), momentum_of(reference, theirs))
    assert distance(ours, [p.detach() for p in theirs], starts) <= 0.03


def test_the_plan_and_the_momentum_stay_where_they_are() -> None:
    ours = matrices()
    optimizer = optim.Muon(ours)
    places = []
    for step in range(3):
        draw_gradients(ours, step=step)
        optimizer.step()
        places.append([one.data_ptr() for one in momentum_of(optimizer, ours)])
    assert places[0] == places[1] == places[2]


def test_transposed_parameters_and_gradients_are_supported() -> None:
    ours = [nn.Parameter(torch.randn(9, 6).T) for _ in range(2)]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    starts = [p.detach().double().clone() for p in ours]
    draw_gradients(ours, theirs, step=0)
    for p in ours:
        p.grad = torch.randn(6, 9).copy_(p.grad)  # type: ignore[arg-type]
    optim.Muon(ours, lr=0.02).step()
    torch.optim.Muon(theirs, lr=0.02).step()
    assert not ours[0].is_contiguous()
    assert distance(ours, [p.detach() for p in theirs], starts) <= 0.03


def test_an_empty_matrix_is_supported() -> None:
    parameters = [nn.Parameter(torch.ones(0, 4)), nn.Parameter(torch.ones(3, 4))]
    draw_gradients(parameters, step=0)
    optim.Muon(parameters, lr=0.1).step()
    assert not torch.equal(parameters[1], torch.ones(3, 4))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("lr", [0.02, torch.tensor(0.02)])
def test_weight_decay_of_16_bit_weights_is_not_rounded_to_16_bits(dtype: Any, lr: Any) -> None:
    ours = [nn.Parameter(torch.linspace(-1, 1, 60).reshape(6, 10).to(dtype)) for _ in range(2)]
    expected = (ours[0].detach().double() * (1 - 0.02 * 0.1)).to(dtype)
    for p in ours:
        p.grad = torch.zeros_like(p)
    optimizer = optim.Muon(ours, lr=lr)
    for found in (
        None,
        torch.zeros(()),
    ):  # without and with a tensor that the host never reads
        for p in ours:
            p.detach().copy_(torch.linspace(-1, 1, 60).reshape(6, 10))
        if found is not None:
            optimizer.found_inf = found
        optimizer.step()
        assert all_equal(ours, [expected, expected])
