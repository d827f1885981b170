"""The numerics gate: correct tricks pass on every small model, planted faults are named."""

import json
import os
import sys
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from tundish.tuning.job import Job, JobSource
from tundish.tuning.numerics.floor import ratios, update_errors
from tundish.tuning.numerics.gate import LIMIT, check_each, check_tricks, gate
from tundish.tuning.numerics.observed_step import points_of
from tundish.tuning.trials.trial import TrialProcess
from tundish.tuning.tricks import Grade
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.compile import Compile
from tundish.tuning.tricks.cuda_graph import CudaGraph
from tundish.tuning.tricks.inplace import InplaceActivations
from tundish.tuning.tricks.optimizer_kernels import ForeachOptimizer, FusedOptimizer
from tundish.tuning.tricks.set_to_none import SetToNone

from tests.helpers import numerics_jobs as jobs
from tests.helpers.numerics_jobs import Cnn, TinyVit, Tokens, adamw, job_maker, mlp

CNN = job_maker(Cnn, count=16, side=8)
VIT = job_maker(TinyVit, adamw, count=16)
TOKENS = job_maker(Tokens, adamw)


@pytest.fixture(autouse=True)
def _one_thread():
    """Limits torch to one thread, because threads of small models spin on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("make", "trick"),
    [
        (CNN, ChannelsLast()),
        (job_maker(Cnn, adamw, side=12), ChannelsLast()),
        (CNN, FusedOptimizer()),
        (CNN, SetToNone()),
        (CNN, InplaceActivations()),
        (VIT, ForeachOptimizer()),
        (VIT, FusedOptimizer()),
        (VIT, jobs.Checkpointed()),
        (job_maker(mlp), jobs.Checkpointed()),
        (TOKENS, FusedOptimizer()),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_correct_trick_passes(make, trick):
    result = gate(make, [trick], seed=1)
    assert result.passed, result
    assert result.ratio < result.limit
    assert result.reference == ("bits" if trick.grade is Grade.BITWISE else "fp64")
    assert result.notes == []


def test_a_stack_has_the_grade_of_its_weakest_trick():
    result = gate(CNN, [SetToNone(), ChannelsLast(), FusedOptimizer()], seed=1)
    assert result.passed, result
    assert result.grade == "reassociation"


@pytest.mark.parametrize(
    ("make", "fault", "tensor"),
    [
        (CNN, jobs.Accumulate(0.5), "loss"),
        (TOKENS, jobs.Accumulate(2.0), "gradient"),
        (CNN, jobs.Fp16Reduction("bn"), "gradient"),
        (CNN, jobs.Fp16Reduction("pool"), "gradient"),
        (CNN, jobs.Fp16Reduction("fc"), "gradient"),
        (CNN, jobs.Fp16Reduction("loss"), "gradient"),
        (VIT, jobs.Checkpointed(False), "gradient"),
        (job_maker(mlp), jobs.Checkpointed(False), "gradient"),
        (CNN, jobs.Checkpointed(), "buffer"),  # BatchNorm also counts the recomputed batch
        (TOKENS, jobs.StaleGradients(), "gradient"),
        (TOKENS, jobs.PreviousBatch(), ""),
        (CNN, jobs.WrongMomentum(), "update"),
        (TOKENS, jobs.OtherBeta(), "update"),
        (VIT, jobs.LostWeightDecay(), "update"),
        (CNN, jobs.FrozenBuffers(), "buffer"),
        (TOKENS, jobs.NanGradient(), "gradient of layers.3.bias"),
    ],
)
def test_a_planted_fault_is_caught_and_named(make, fault, tensor):
    result = gate(make, [fault], seed=1)
    assert not result.passed
    assert result.ratio > 3 * result.limit, result
    names = [found["name"] for found in result.tensors if found["ratio"] > result.limit]
    assert any(name.startswith(tensor) for name in names), result
    assert result.worst in result.sentence
    json.dumps(result.as_json(), allow_nan=False)


def test_non_finite_results_are_named_as_such():
    assert gate(TOKENS, [jobs.NanGradient()], seed=1).sentence.endswith("is not finite")


def test_accumulation_is_compared_with_micro_batches_where_batchnorm_is():
    with_norm = gate(CNN, [jobs.Accumulate()], seed=1)
    assert with_norm.passed, with_norm
    assert "2 micro-batches" in with_norm.notes[0]
    without = gate(TOKENS, [jobs.Accumulate()], seed=1)
    assert without.passed, without
    assert without.notes == []


def test_equal_runs_never_fail():
    for seed in range(20):
        make = job_maker(mlp, adamw, count=16, seed=seed)
        result = gate(make, [ForeachOptimizer()], seed=seed)
        assert result.passed, (seed, result)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # torch's compiler uses deprecated functions of torch
def test_compiled_steps_pass_and_their_graphs_are_counted():
    result = gate(job_maker(mlp), [Compile()], seed=1)  # the dropout masks agree
    assert result.passed, result
    assert result.graphs == 1  # compiled once, not again for the second step


def test_a_step_that_was_not_compiled_fails():
    @dataclass(frozen=True)
    class CompilesNothing(jobs.Planted):
        def apply(self, step):
            step.compile_options = {}
            step.compiled_loss_of = step.loss_of

    result = gate(TOKENS, [CompilesNothing()], seed=1)
    assert not result.passed
    assert "compiled nothing" in result.sentence


def test_the_bitwise_grade_compares_bits():
    @dataclass(frozen=True)
    class ClaimsBits(ChannelsLast):
        grade = Grade.BITWISE

    result = gate(job_maker(Cnn, side=12), [ClaimsBits()], seed=1)
    assert not result.passed
    assert "bitwise equal" in result.sentence


class Noisy(nn.Module):
    """Adds noise that ignores the seed, at the size of rounding errors."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x):
        own = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), sys.byteorder))
        return self.layer(x) * (1 + 1e-6 * torch.randn(10, generator=own).to(x.dtype))


def test_a_nondeterministic_step_is_not_compared_bitwise():
    result = gate(job_maker(lambda: nn.Sequential(Noisy())), [SetToNone()], seed=1)
    assert result.passed, result
    assert not result.deterministic
    assert any("not deterministic" in note for note in result.notes)


class OnlyFp32(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x):
        return self.layer(x.float())


@pytest.mark.parametrize("trick", [ForeachOptimizer(), jobs.Fp16Reduction("fc")])
def test_a_model_that_does_not_run_in_fp64_is_compared_with_fp32(trick):
    result = gate(job_maker(lambda: nn.Sequential(OnlyFp32())), [trick], seed=1)
    assert result.passed == isinstance(trick, ForeachOptimizer), result
    assert result.reference == "fp32"
    assert any("does not run in fp64" in note for note in result.notes)


class Draws(nn.Module):
    """Draws random numbers besides dropout, in the type of the input."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x):
        x = x + 0.1 * torch.randn_like(x) * torch.rand(1, dtype=x.dtype)
        keep = torch.empty(x.shape[0], 1, dtype=x.dtype).bernoulli_(0.7)
        return nn.functional.alpha_dropout(self.layer(x * keep), 0.2)


def test_fp64_draws_the_numbers_of_fp32():
    result = gate(job_maker(lambda: nn.Sequential(Draws())), [ForeachOptimizer()], seed=1)
    assert result.passed, result
    assert result.reference == "fp64"


def test_a_rate_of_zero_still_shows_a_wrong_optimizer():
    def at_rest(model):
        return torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)

    assert not gate(job_maker(mlp, at_rest), [jobs.WrongMomentum()], seed=1).passed


def test_a_batch_that_cannot_be_cut_is_used_whole():
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 10)

        def forward(self, x):
            return self.layer(x.view(32, 64))

    result = gate(job_maker(lambda: nn.Sequential(Whole())), [ForeachOptimizer()], seed=1)
    assert result.passed, result
    assert "could not be cut" in result.notes[0]


def test_the_two_points_use_different_samples():
    batch = (torch.arange(40.0), torch.arange(40))
    job = Job(nn.Linear(1, 1), None, nn.MSELoss(), [batch])
    first, second = points_of(job, 5, 8)
    assert torch.equal(first.batch[1], torch.arange(8))
    assert torch.equal(second.batch[1], torch.arange(8, 16))
    assert first.seed != second.seed


def test_a_trick_that_cannot_be_used_says_why():
    result = gate(CNN, [CudaGraph()], seed=1)
    assert not result.passed
    assert result.obstacle == "CUDA graph of the step: needs a GPU"


BUILD = """
import torch
def build():
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batch = torch.randn(16, 8), torch.randint(0, 2, (16,))
    return model, optimizer, torch.nn.CrossEntropyLoss(), batch
"""


def test_a_child_process_checks_tricks(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(BUILD)
    source = JobSource(file=str(file), function="build")
    tricks = [FusedOptimizer().as_json(), InplaceActivations().as_json()]
    child = TrialProcess()
    try:
        theirs = child.ask(
            "call",
            function="tundish.tuning.numerics.gate:check_tricks",
            source=source,
            tricks=tricks,
            seed=2,
        )
    finally:
        child.end()
    assert theirs.passed, theirs
    ours = check_tricks(source, tricks, seed=2)
    assert (ours.passed, ours.grade, ours.reference) == (True, theirs.grade, theirs.reference)


def test_tricks_that_are_checked_in_one_process_get_the_verdicts_they_get_alone(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(BUILD)
    source = JobSource(file=str(file), function="build")
    tricks = [FusedOptimizer().as_json(), ChannelsLast().as_json(), CudaGraph().as_json()]
    together = check_each(source, tricks, seed=2)
    alone = [check_tricks(source, [one], seed=2) for one in tricks]
    assert [one.as_json() for one in together] == [one.as_json() for one in alone]


@pytest.mark.parametrize(("off", "passes"), [(0.0, True), (3e-5, True), (1e-3, False)])
def test_an_update_of_zeros_may_have_bias_corrections_in_fp32(off, passes):
    """Weights starting at zero show all digits of the update; 1 - beta2 has few digits in fp32."""
    before = {"bias": torch.zeros(100)}
    expected = {"bias": 1e-3 * torch.sign(torch.randn(100, dtype=torch.float64))}
    plain = update_errors({"weight bias": expected["bias"].float()}, before, expected)
    moved = update_errors({"weight bias": (expected["bias"] * (1 + off)).float()}, before, expected)
    ratio, _, _ = ratios(moved, plain)["update of bias"]
    assert (ratio <= LIMIT) is passes
