"""choose_blocks: selects blocks to recompute for a memory target."""

import copy

import pytest
import torch
from torch import nn
from tundish import ArgumentError
from tundish.tuning.job import Job
from tundish.tuning.memory import recompute
from tundish.tuning.memory.recompute import (
    RecomputableBlock,
    choose_blocks,
    measure_blocks,
    predicted_peak,
    select,
)
from tundish.tuning.tricks.checkpointing import Checkpointing

from tests.helpers.live_memory import LiveMemory
from tests.helpers.steps import sgd_step


def block(channels=8):
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Conv2d(channels, channels, 3, padding=1),
        nn.Tanh(),
    )


def job_of(model=None, samples=16):
    torch.manual_seed(0)
    if model is None:
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            *(block() for _ in range(4)),
            nn.Flatten(),
            nn.Linear(8 * 64, 4),
        )
    batch = (torch.randn(samples, 3, 8, 8), torch.randint(4, (samples,)))
    return Job(model, torch.optim.SGD(model.parameters(), 0.1), nn.CrossEntropyLoss(), [batch])


PIECE = 16 * 8 * 64 * 4  # bytes of one activation of a block


def test_a_block_frees_only_what_nothing_else_keeps():
    plain, blocks = measure_blocks(job_of())
    freed = {b.name: b.freed_bytes for b in blocks}
    # Kept: conv's input, which is the block's input and kept anyway; norm's input; ReLU's output;
    # dropout's mask and output, the input of the second conv. tanh's output is the next block's
    # input.
    small = 2 * 8 * 4  # batch statistics that BatchNorm's backward needs
    mask = PIECE // 4 if freed["1"] < 4 * PIECE else PIECE
    assert freed["1"] == freed["2"] == 3 * PIECE + mask + small
    assert freed["4"] >= freed["1"]
    assert "5" not in freed  # Flatten keeps nothing
    assert plain > 4 * freed["1"]


def peak_with(job, blocks):
    """Returns the peak bytes of the tensors that a step creates."""
    step = sgd_step(copy.deepcopy(job.model))
    if blocks:
        Checkpointing(blocks).apply(step)
    step(job.batches[0])
    with LiveMemory() as memory:
        step(job.batches[0])
    return memory.peak


@pytest.mark.parametrize("share", [0.8, 0.6, 0.5])
def test_the_target_is_kept_by_real_steps(share):
    job = job_of()
    plain, _ = measure_blocks(job)
    choice = choose_blocks(job, int(share * plain))
    assert choice.reached
    assert choice.plain_bytes == plain
    saved = peak_with(job, ()) - peak_with(job, choice.blocks)
    promised = plain - choice.peak_bytes
    # Gradients and temporaries of the running operation add to both peaks.
    assert saved > promised - 2 * PIECE


def test_a_met_target_selects_nothing_and_an_unreachable_target_is_reported():
    job = job_of()
    plain, _ = measure_blocks(job)
    assert choose_blocks(job, plain).blocks == ()
    out_of_reach = choose_blocks(job, 1)
    assert not out_of_reach.reached
    assert out_of_reach.peak_bytes < 0.6 * plain
    with pytest.raises(ArgumentError, match=r"activation_memory must be .* at least 1, not 0"):
        choose_blocks(job, 0)


def names(blocks):
    return {b.name for b in blocks}


def test_the_cheapest_recomputation_comes_first():
    blocks = [
        RecomputableBlock("dear", 1000, 100.0, before_bytes=0),
        RecomputableBlock("cheap", 1000, 1.0, before_bytes=1000),
        RecomputableBlock("other", 1000, 2.0, before_bytes=2000),
    ]
    assert names(select(blocks, 4000, 3000)) == {"cheap"}
    assert names(select(blocks, 4000, 2000)) == {"cheap", "other"}
    assert names(select(blocks, 4000, 1000)) == {"cheap", "other", "dear"}


def test_a_block_recomputed_at_the_peak_saves_nothing():
    last = RecomputableBlock("last", 1000, 1.0, before_bytes=3000)
    first = RecomputableBlock("first", 1000, 2.0, before_bytes=0)
    assert predicted_peak([last], 4000) == 4000
    assert predicted_peak([first], 4000) == 3000
    assert predicted_peak([first, last], 4000) == 3000


def test_small_blocks_are_preferred_to_a_block_recomputed_as_a_whole():
    stage = RecomputableBlock("stage", 4000, 1.0, before_bytes=1000)
    parts = [RecomputableBlock(f"stage.{i}", 1000, 0.3, 1000 + 1000 * i) for i in range(4)]
    # The last part is needed again when nothing else is alive, so it may stay as it is.
    assert names(select([stage, *parts], 5000, 2000)) == {"stage.0", "stage.1", "stage.2"}


def test_choices_made_redundant_by_the_last_choice_are_dropped():
    first, last = (
        RecomputableBlock("first", 4000, 1.1, 0),
        RecomputableBlock("last", 4000, 1.0, 5000),
    )
    assert predicted_peak([last], 9000) == 9000
    assert names(select([first, last], 9000, 5000)) == {"first"}


def test_a_block_replaces_its_cheap_parts_if_they_do_not_suffice():
    blocks = [
        RecomputableBlock("a", 1000, 1.0, 0),
        RecomputableBlock("a.dropout", 100, 0.01, 500),
        RecomputableBlock("b", 1000, 1.0, 1000),
        RecomputableBlock("b.dropout", 100, 0.01, 1500),
    ]
    assert names(select(blocks, 3000, 2850)) == {"a.dropout", "b.dropout"}
    assert names(select(blocks, 3000, 2000)) in ({"a"}, {"b"})  # without the dropouts in addition
    assert names(select(blocks, 3000, 1000)) == {"a", "b"}
    assert recompute.enclosing_modules("a.b.c") == ["a", "a.b"]


def test_the_time_of_a_block_is_its_forward_time():
    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    clock = Clock()

    class Slow(nn.Module):
        def __init__(self, seconds):
            super().__init__()
            self.seconds, self.layer = seconds, block()

        def forward(self, x):
            clock.now += self.seconds
            return self.layer(x)

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        *(Slow(s) for s in (3.0, 1.0, 2.0, 4.0)),
        nn.Flatten(),
        nn.Linear(8 * 64, 4),
    )
    plain, blocks = measure_blocks(job_of(model), clock)
    assert {b.name: b.seconds for b in blocks if "." not in b.name} == {
        "1": 3.0,
        "2": 1.0,
        "3": 2.0,
        "4": 4.0,
    }
    outer = [b for b in blocks if "." not in b.name]
    chosen = select(outer, plain, plain - 2 * outer[0].freed_bytes)
    assert names(chosen) == {"2", "3"}


def test_blocks_whose_second_pass_would_differ_are_left_out():
    class Overwrites(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = block()

        def forward(self, x):
            return self.inner(x.mul_(1.5))

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        Overwrites(),
        block(),
        nn.Flatten(),
        nn.Linear(8 * 64, 4),
    )
    _, blocks = measure_blocks(job_of(model))
    assert "1" not in names(blocks)
    assert {"1.inner", "2"} <= names(blocks)


def test_blocks_whose_inputs_are_overwritten_after_them_are_left_out():
    class AddsInPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 8, 3, padding=1)
            self.block = nn.Sequential(nn.ReLU(), block())
            self.other = block()
            self.head = nn.Linear(8 * 64, 4)

        def forward(self, x):
            x = self.stem(x)
            x += self.block(x)
            return self.head(self.other(x).flatten(1))

    _, blocks = measure_blocks(job_of(AddsInPlace()))
    assert "block" not in names(blocks)
    assert {"block.1", "other"} <= names(blocks)


def test_the_model_and_the_random_numbers_stay_as_they_were():
    job = job_of()
    before = copy.deepcopy(job.model.state_dict())
    state = torch.get_rng_state()
    choose_blocks(job, 1)
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in job.model.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(p.grad is None for p in job.model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in job.model.modules())
