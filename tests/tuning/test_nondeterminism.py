"""Nondeterministic operations are named with their line, and so is the first differing tensor."""

import copy
import os
import warnings

import pytest
import torch
from torch import nn
from tundish import ArgumentError
from tundish.tuning.job import Job
from tundish.tuning.numerics.nondeterminism import (
    backward_nodes,
    find_nondeterministic,
    operation_of,
)
from tundish.tuning.numerics.repeatability import find_difference, same_bits
from tundish.tuning.step import Step

HERE = os.path.abspath(__file__)


def line_with(mark):
    """Returns the number of the only line of this file that ends with this comment."""
    with open(HERE) as file:
        found = [i for i, text in enumerate(file, 1) if text.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1
    return found[0]


class PutBackward(torch.autograd.Function):
    """Uses put_() in backward, for which torch has no deterministic kernel."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return torch.zeros_like(gradient).put_(torch.arange(gradient.numel()), 2 * gradient)


class Net(nn.Module):
    def __init__(self, forward=True, backward=True):
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.put, self.custom = forward, backward

    def forward(self, x):
        x = self.norm(self.fc(x))
        if self.custom:
            x = PutBackward.apply(x)  # custom
        if self.put:
            x.put_(torch.tensor([0]), torch.zeros(1))  # put
        return torch.relu(x) + x


def job_of(model, samples=4):
    torch.manual_seed(0)
    batch = (torch.randn(samples, 6), torch.randint(6, (samples,)))
    return Job(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), [batch])


def test_operations_are_named_with_the_line_of_the_forward_pass():
    found = find_nondeterministic(job_of(Net()))
    assert [(one.operation, one.file, one.line, one.in_backward) for one in found] == [
        ("put_", HERE, line_with("put"), False),
        ("put_", HERE, line_with("put"), True),  # torch's own gradient of put_
        ("put_", HERE, line_with("custom"), True),
    ]
    assert found[2].text.startswith("x = PutBackward.apply(x)")
    assert str(found[0]) == f"put_: {HERE}:{line_with('put')}: {found[0].text}"


def test_a_deterministic_step_has_no_findings():
    assert find_nondeterministic(job_of(Net(False, False))) == []


def test_model_and_flags_are_unchanged_after_the_search():
    job = job_of(Net())
    job.model.fc.weight.grad = torch.ones(6, 6)
    weights = copy.deepcopy(job.model.state_dict())
    state = torch.get_rng_state()
    find_nondeterministic(job)
    find_difference(job)
    assert all(torch.equal(a, b) for a, b in zip(weights.values(), job.model.state_dict().values()))
    assert torch.equal(job.model.fc.weight.grad, torch.ones(6, 6))
    assert job.model.fc.bias.grad is None
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_anomaly_enabled()


def test_a_step_needs_a_batch():
    job = job_of(Net())
    with pytest.raises(ArgumentError, match="fix: pass the batch"):
        find_nondeterministic(Step(job.model, job.optimizer, job.loss_fn))


def test_the_flags_are_restored_when_the_forward_pass_fails():
    job = job_of(Net())
    job.loss_fn = lambda output, target: output.no_such_thing
    with pytest.raises(AttributeError):
        find_nondeterministic(job)
    assert not torch.are_deterministic_algorithms_enabled()


class Branches(nn.Module):
    """Has broadcasting, a tensor used twice, a node with two outputs, a type change and a view."""

    def __init__(self):
        super().__init__()
        self.fc, self.shift = nn.Linear(6, 6), nn.Parameter(torch.ones(1, 6))

    def forward(self, x):
        x = self.fc(x) + self.shift
        low, high = x.bfloat16().float().chunk(2, dim=1)
        best, _ = torch.max(x, dim=1, keepdim=True)
        return torch.cat([low * best, PutBackward.apply(high)], dim=1) + torch.relu(x)


def test_the_backward_pass_by_nodes_computes_autograds_gradients():
    job = job_of(Branches())
    step = Step(job.model, job.optimizer, job.loss_fn)
    loss = step.loss_of(job.batches[0])
    leaves = {}
    for _, run in backward_nodes(loss, leaves):
        run()
    loss.backward()
    assert len(leaves) == 3
    for leaf, gradients in leaves.items():
        torch.testing.assert_close(
            gradients[0].sum_to_size(leaf.variable.shape), leaf.variable.grad
        )


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        (
            "upsample_bilinear2d_backward_out_cuda does not have a deterministic implementation, but you set",
            "upsample_bilinear2d_backward_out_cuda",
        ),
        (
            "Memory Efficient attention defaults to a non-deterministic algorithm. To explicitly enable",
            "Memory Efficient attention",
        ),
        (
            "Deterministic behavior was enabled with either `torch.use_deterministic_algorithms(True)` but this "
            "operation is not deterministic because it uses CuBLAS and you have CUDA >= 10.2.",
            "matrix product (cuBLAS)",
        ),
    ],
)
def test_the_operation_is_read_from_the_warning(text, operation):
    assert operation_of(text) == operation


def test_other_warnings_are_ignored():
    job = job_of(Net(False, False))
    plain = job.loss_fn

    def loss_fn(output, target):
        warnings.warn("a warning of something else", stacklevel=1)
        return plain(output, target)

    job.loss_fn = loss_fn
    assert find_nondeterministic(job) == []


class Unrepeatable(nn.Module):
    """A model that adds different noise in each call, whatever the seed."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.calls = kind, 0

    def forward(self, x):
        self.calls += 1
        if self.kind == "urandom":
            noise = int.from_bytes(os.urandom(4), "little") / 2**32
        elif self.kind == "counter":
            noise = self.calls / 8
        else:
            noise = float(torch.rand(()))  # drawn from the seed, so repeatable
        return x + noise


@pytest.mark.parametrize("kind", ["urandom", "counter"])
def test_the_first_output_that_differs_is_named(kind):
    model = nn.Sequential(nn.Linear(6, 6), Unrepeatable(kind), nn.ReLU(), nn.Linear(6, 6))
    difference = find_difference(job_of(model))
    assert (difference.what, difference.name, difference.run) == ("output", "1", 1)
    assert difference.largest > 0
    assert str(difference).startswith("output of 1 differs in run 1 by")


class NoisyGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (1 + int.from_bytes(os.urandom(3), "little") / 2**20)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        return self.last(NoisyGradient.apply(self.first(x)))


def test_the_first_gradient_that_differs_is_named():
    difference = find_difference(job_of(Head()))
    assert (difference.what, difference.name) == ("gradient", "first.bias")


def test_a_gradient_that_is_missing_in_a_later_run_is_named():
    class DetachesLater(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last, self.passes = nn.Linear(4, 4), nn.Linear(4, 2), 0

        def forward(self, x):
            self.passes += 1
            hidden = self.first(x)
            return self.last(hidden if self.passes == 1 else hidden.detach())

    model = DetachesLater()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = (torch.randn(3, 4), torch.randn(3, 2))
    found = find_difference(Job(model, optimizer, nn.MSELoss(), [batch]))
    assert (found.what, found.name, found.run) == ("gradient", "first.bias", 1)


def test_a_repeatable_step_has_no_difference():
    model = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), Unrepeatable("seed"), nn.Dropout())
    assert find_difference(job_of(model), runs=3) is None


def test_tensors_are_compared_bitwise():
    nan = torch.tensor([float("nan")])
    assert same_bits(nan, nan.clone())
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not same_bits(torch.zeros(2), torch.zeros(2, 1))
