"""Checkpointing: the same step, with less memory kept between forward and backward."""

import copy
import pickle
import random

import numpy as np
import pytest
import torch
from torch import nn
from tundish import ArgumentError
from tundish.tuning.memory import recomputed_block as recomputed
from tundish.tuning.memory.recomputed_block import RecomputedForward
from tundish.tuning.tricks import trick_from_json
from tundish.tuning.tricks.accumulate import Accumulate
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.checkpointing import Checkpointing

from tests.helpers.live_memory import LiveMemory
from tests.helpers.steps import differing, sgd_step, train, twin


def conv_block(channels, momentum=0.1):
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels, momentum=momentum),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Conv2d(channels, channels, 3, padding=1),
        nn.ReLU(),
    )


class Network(nn.Module):
    def __init__(self, channels=8, momentum=0.1):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.stages = nn.ModuleList(conv_block(channels, momentum) for _ in range(3))
        self.head = nn.Linear(channels, 4)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = x + stage(x)
        return self.head(x.mean((2, 3)))


BLOCKS = ("stages.0", "stages.2")


def network_step(momentum=0.1):
    torch.manual_seed(0)
    return sgd_step(Network(momentum=momentum))


def batches_of(count=3, samples=4):
    torch.manual_seed(9)
    return [(torch.randn(samples, 3, 8, 8), torch.randint(4, (samples,))) for _ in range(count)]


def both(step, tricks, batches=None):
    """Trains the plain step and a step with tricks on the same batches; returns the differences."""
    plain = twin(step)
    for trick in tricks:
        assert trick.obstacle(step) == ""
        trick.apply(step)
    losses = train(step, batches or batches_of()), train(plain, batches or batches_of())
    return differing(step.model, plain.model) + (["losses"] if losses[0] != losses[1] else [])


@pytest.mark.parametrize("momentum", [0.1, None])  # None: a cumulative average of all batches
def test_weights_gradients_statistics_and_dropout_are_bitwise_equal(momentum):
    assert both(network_step(momentum), [Checkpointing(BLOCKS)]) == []


def test_statistics_that_are_updated_twice_would_be_seen(monkeypatch):
    monkeypatch.setattr(recomputed, "norms_of", lambda module: [])
    monkeypatch.setattr(recomputed, "changing_buffers", lambda module: [])
    names = both(network_step(), [Checkpointing(BLOCKS)])
    assert "stages.0.1.running_mean" in names
    assert "stages.0.1.num_batches_tracked" in names
    assert "stages.1.1.running_mean" not in names  # the block without checkpointing


def test_a_lost_dropout_mask_would_be_seen(monkeypatch):
    def forgetful(*inputs, preserve_rng_state, **words):
        return torch.utils.checkpoint.checkpoint(*inputs, preserve_rng_state=False, **words)

    monkeypatch.setattr(recomputed, "checkpoint", forgetful)
    assert "stages.0.0.weight.grad" in both(network_step(), [Checkpointing(BLOCKS)])


def test_checkpointing_is_exact_with_accumulation_and_without_statistics():
    step = network_step()
    plain = twin(step)
    Accumulate(2).apply(plain)
    for trick in (Checkpointing(BLOCKS), Accumulate(2)):
        trick.apply(step)
    assert train(step, batches_of()) == train(plain, batches_of())
    assert differing(step.model, plain.model) == []


def test_checkpointing_is_exact_under_autocast():
    step = network_step()
    plain = twin(step)
    Bf16().apply(plain)
    for trick in (Checkpointing(BLOCKS), Bf16()):
        trick.apply(step)
    assert train(step, batches_of()) == train(plain, batches_of())
    assert differing(step.model, plain.model) == []


class DrawsInPython(nn.Module):
    """Stochastic depth with Python's and NumPy's generators."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            if random.random() < 0.5:
                x = torch.tanh(layer(x)) * float(np.random.rand())
        return x


def test_python_and_numpy_generators_give_the_same_numbers_again():
    torch.manual_seed(0)
    step = sgd_step(nn.Sequential(DrawsInPython(), nn.Linear(6, 4)))
    plain = twin(step)
    Checkpointing(("0",)).apply(step)
    batches = [(torch.randn(4, 6), torch.randint(4, (4,))) for _ in range(6)]
    seen = []
    for one in (step, plain):
        random.seed(1)
        np.random.seed(1)
        seen.append((train(one, batches), random.random(), np.random.rand()))
    assert seen[0] == seen[1]
    assert differing(step.model, plain.model) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own imports
def test_compiled_checkpointing_updates_statistics_once():
    def norm_only():
        torch.manual_seed(0)
        return sgd_step(
            nn.Sequential(nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8)), nn.Linear(8, 4))
        )

    step, plain = norm_only(), norm_only()
    Checkpointing(("0",)).apply(step)
    step.compile_options = {"backend": "aot_eager_decomp_partition"}
    batches = [(torch.randn(4, 6), torch.randint(4, (4,))) for _ in range(2)]
    assert train(step, batches) == pytest.approx(train(plain, batches), rel=1e-5)
    for name, value in plain.model.state_dict().items():
        torch.testing.assert_close(step.model.state_dict()[name], value, rtol=1e-5, atol=1e-6)


def test_checkpointing_reduces_the_peak_memory():
    batches = batches_of(count=2, samples=32)

    def peak(*tricks):
        step = network_step()
        for trick in tricks:
            trick.apply(step)
        step(batches[0])  # creates the optimizer's state
        with LiveMemory() as memory:
            step(batches[1])
        return memory.peak

    every = Checkpointing(("stages.0", "stages.1", "stages.2"))
    assert peak(every) < 0.6 * peak()


def test_undo_restores_the_model():
    step = network_step()
    before = {name: dict(m.__dict__) for name, m in step.model.named_modules()}
    trick = Checkpointing(BLOCKS)
    trick.apply(step)
    assert "already" in trick.obstacle(step)
    trick.undo(step)
    assert step.kept == {}
    for name, module in step.model.named_modules():
        assert module.__dict__.keys() == before[name].keys()


def test_a_custom_forward_of_an_instance_is_restored():
    step, plain = network_step(), network_step()
    for model in (step.model, plain.model):
        own = model.stages[0].forward
        model.stages[0].forward = lambda x, own=own: own(x) * 2
    mine = step.model.stages[0].forward
    trick = Checkpointing(BLOCKS)
    trick.apply(step)
    assert train(step, batches_of()) == train(plain, batches_of())
    trick.undo(step)
    assert step.model.stages[0].forward is mine


def test_a_checkpointed_model_can_be_copied_and_pickled():
    step = network_step()
    Checkpointing(BLOCKS).apply(step)
    copies = [copy.deepcopy(step.model), pickle.loads(pickle.dumps(step.model))]
    for other in copies:
        forward = other.stages[0].forward
        assert isinstance(forward, RecomputedForward)
        assert forward.module is other.stages[0]
        assert forward.forward.__self__ is other.stages[0]


def test_evaluation_does_not_recompute(monkeypatch):
    monkeypatch.setattr(recomputed, "checkpoint", None)  # must not be called
    step = network_step()
    inputs = batches_of()[0][0]
    with torch.no_grad():
        plain = step.model.eval()(inputs)
        Checkpointing(BLOCKS).apply(step)
        assert torch.equal(step.model(inputs), plain)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.linear(x)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (nn.Sequential(nn.ELU(inplace=True), nn.Linear(6, 4)), "block overwrites its input"),
        (Counts(), "block changes its buffer calls"),
    ],
)
def test_a_block_whose_second_pass_would_differ_is_refused(block, text):
    model = nn.Sequential()
    model.add_module("first", nn.Linear(6, 6))
    model.add_module("block", block)
    step = sgd_step(model)
    Checkpointing(("block",)).apply(step)
    with pytest.raises(ArgumentError, match=text):
        step((torch.randn(4, 6), torch.randint(4, (4,))))


def test_a_buffer_that_changes_only_in_training_is_found_after_a_pass_in_eval_mode():
    block = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4))
    step = sgd_step(nn.Sequential(nn.Linear(6, 6), block))
    Checkpointing(("1",)).apply(step)
    step.model.eval()(torch.randn(4, 6))  # with autograd
    step.model.train()
    with pytest.raises(ArgumentError, match=r"1 changes its buffer parametrizations.weight.0._u"):
        step((torch.randn(4, 6), torch.randint(4, (4,))))


class Dense(nn.Module):
    """As in torchvision's DenseNet: a layer gets a list that grows after it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(6 + 3 * i) for i in range(3))
        self.head = nn.Linear(15, 4)

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return self.head(torch.cat(features, 1))


class DenseLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3)

    def forward(self, features):
        return self.linear(torch.cat(features, 1)).relu()


def test_a_list_that_grows_after_the_block_is_repeated_as_it_was():
    torch.manual_seed(0)
    step = sgd_step(Dense())
    batches = [(torch.randn(5, 6), torch.randint(4, (5,))) for _ in range(3)]
    tricks = [Checkpointing(("layers.0", "layers.1", "layers.2"))]
    assert both(step, tricks, batches) == []


class Pops(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, given):
        return self.linear(given.pop())


class Shifts(nn.Module):
    """Overwrites the shift of its block after the block."""

    def __init__(self, block, give):
        super().__init__()
        self.block, self.give = block, give

    def forward(self, x):
        shift = torch.ones(4)
        out = self.give(self.block, x, shift)
        shift.mul_(-5)
        return out


class AddsAndClips(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x, shift):
        return (self.linear(x) + shift[0]).relu()


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Shifts(Pops(), lambda block, x, shift: block([x, x + 1])), "block changes a list or dict"),
        (
            Shifts(AddsAndClips(), lambda block, x, shift: block(x, shift=(shift,))),
            "block was given a tensor that is overwritten before the backward pass",
        ),
        (
            Shifts(AddsAndClips(), lambda block, x, shift: block(x, [shift])),
            "block was given a tensor that is overwritten before the backward pass",
        ),
    ],
)
def test_inputs_that_the_second_pass_would_miss_are_refused(model, text):
    step = sgd_step(model)
    Checkpointing(("block",)).apply(step)
    with pytest.raises(ArgumentError, match=text):
        step((torch.randn(3, 6), torch.randint(4, (3,))))


def test_obstacles_are_named():
    step = network_step()
    for blocks, text in (
        ((), "no block"),
        (("stage.0",), "no submodule 'stage.0'"),
        (("stages",), "stages is a list of modules"),
        (("stages.0", "stages.0.1"), "stages.0.1 is inside stages.0"),
    ):
        assert text in Checkpointing(blocks).obstacle(step)


def test_a_plan_file_keeps_the_blocks():
    trick = Checkpointing(BLOCKS)
    values = {**trick.as_json(), "blocks": list(BLOCKS)}  # the types that JSON returns
    assert trick_from_json(values) == trick
    assert hash(trick_from_json(values)) == hash(trick)
