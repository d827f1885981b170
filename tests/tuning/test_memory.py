"""Compares the predicted peak of a training step with two references.

One counts every tensor of a real step; the other is the CPU allocator's record in torch's profiler.
"""

import copy
import gc
import json
import sys
import threading

import pytest
import torch
import tundish
from torch import nn
from tundish.tuning.job import Job
from tundish.tuning.memory.live_memory import LiveMemory
from tundish.tuning.memory.prediction import count_step, measure_peak, predict_memory
from tundish.tuning.step import Step

from tests.tuning.models import MODELS, image_job


def step_of(job, **settings):
    step = Step(job.model, job.optimizer, job.loss_fn)
    for name, value in settings.items():
        setattr(step, name, value)
    return step


def is_close(predicted, true, share=0.1):
    return abs(predicted - true) <= share * true


# --- counting tensors ---------------------------------------------------------------------------


def test_storages_are_counted_once_and_until_the_last_owner_is_gone():
    with LiveMemory() as live:
        a = torch.zeros(100)
        view = a[10:].reshape(9, 10)
        assert live.bytes == 400
        b = a + 1
        assert live.bytes == 800
        del a
        assert live.bytes == 800  # the view keeps the storage alive
        del view
        assert live.bytes == 400
        b += 1
        assert live.bytes == 400
    del b
    assert live.bytes == 0
    assert live.peak() == 800


def test_tensors_saved_by_autograd_are_counted_until_backward():
    weight = torch.ones(100, requires_grad=True)
    with LiveMemory() as live:
        live.name([weight], "parameters")
        loss = weight.exp().sum()
        assert live.bytes == 400 + 400 + 4  # exp() saves its result
        loss.backward()
        assert live.bytes == 400 + 4 + 400  # the gradient
    assert live.by_kind["parameters"] == 400


# --- prediction -----------------------------------------------------------------------------------

SETTINGS = [
    {},
    {"autocast": torch.bfloat16},
    {"accumulate": 2, "max_norm": 1.0, "channels_last": True},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "+".join(s) or "plain")
@pytest.mark.parametrize("name", MODELS)
def test_the_prediction_matches_a_real_step(name, settings):
    job = image_job(name, optimizer=torch.optim.AdamW)
    step = step_of(job, **settings)
    predicted = predict_memory(step, job.batches[0])
    true = count_step(step, job.batches[0])
    assert predicted.method == "fake tensors"
    assert is_close(predicted.peak, true.peak, 0.02)
    assert predicted.phase == true.phase
    assert predicted.peak == sum(predicted.at_peak.values())


def allocated_peak(step, batch, tmp_path):
    """Returns the maximum bytes allocated at once in a step, from torch's profiler."""
    step(batch)  # creates the optimizer's state
    step.optimizer.zero_grad(set_to_none=True)
    gc.collect()
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        step(batch)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    now = peak = 0
    for event in events:
        if event.get("name") == "[memory]":
            now += event["args"]["Bytes"]
            peak = max(peak, now)
    return peak


@pytest.mark.parametrize(
    ("name", "autocast"), [*((name, None) for name in MODELS), ("vit", torch.bfloat16)]
)
def test_the_prediction_matches_the_allocator(name, autocast, tmp_path):
    job = image_job(name, samples=16, optimizer=torch.optim.AdamW)
    step = step_of(job, autocast=autocast)
    predicted = predict_memory(step, job.batches[0])
    before = sum((predicted.parameters, predicted.buffers, predicted.optimizer, predicted.batch))
    assert is_close(predicted.peak, before + allocated_peak(step, job.batches[0], tmp_path))


OPTIMIZERS = [
    (torch.optim.SGD, {}, 0),
    (torch.optim.SGD, {"momentum": 0.9}, 1),
    (torch.optim.Adam, {}, 2),
    (torch.optim.Adam, {"amsgrad": True}, 3),
    (torch.optim.AdamW, {"foreach": True}, 2),
    (torch.optim.AdamW, {"fused": True}, 2),
    (torch.optim.RMSprop, {"momentum": 0.9, "centered": True}, 3),
    (torch.optim.Adagrad, {}, 1),
]


@pytest.mark.parametrize(("kind", "options", "copies"), OPTIMIZERS)
def test_parameters_gradients_and_optimizer_state_are_predicted(kind, options, copies):
    model = nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10))
    batch = (torch.randn(8, 20), torch.randint(10, (8,)))
    optimizer = kind(model.parameters(), lr=0.01, **options)
    job = Job(model, optimizer, nn.CrossEntropyLoss(), [batch])
    weights = sum(p.numel() * 4 for p in job.model.parameters())
    tensors = len(list(job.model.parameters()))
    predicted = predict_memory(job)
    assert predicted.method == "fake tensors"
    assert predicted.parameters == predicted.gradients == weights
    assert copies * weights <= predicted.optimizer <= copies * weights + 4 * tensors  # step counts
    assert predicted.batch == 8 * 20 * 4 + 8 * 8
    assert is_close(predicted.peak, count_step(step_of(job), job.batches[0]).peak, 0.02)


def test_temporaries_of_a_foreach_optimizer_can_be_the_peak():
    torch.manual_seed(0)
    model = nn.Linear(500, 500)
    batch = (torch.randn(2, 500), torch.randint(500, (2,)))
    peaks = {}
    for foreach in (False, True):
        optimizer = torch.optim.Adam(model.parameters(), foreach=foreach)
        job = Job(model, optimizer, nn.CrossEntropyLoss(), [batch])
        peaks[foreach] = predict_memory(job)
        assert peaks[foreach].phase == "optimizer"
        assert peaks[foreach].peak == count_step(step_of(copy.deepcopy(job)), batch).peak
    assert peaks[True].at_peak["temporary"] >= 1_000_000


def test_a_prediction_has_the_kernels_that_torch_chooses_for_the_real_parameters(monkeypatch):
    def peak(kind=torch.optim.SGD, **given):
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        given = {"lr": 0.1, "weight_decay": 1e-4, **given}
        optimizer = kind(model.parameters(), **given)
        step = Step(model, optimizer, lambda model, batch: model(batch).square().mean())
        return predict_memory(step, torch.zeros(4, 64)).peak

    loop, foreach = peak(foreach=False), peak(foreach=True)
    assert foreach > loop
    assert peak() == loop  # torch's default on a CPU
    module = sys.modules["torch.optim.optimizer"]  # torch.optim deletes its name
    as_on_a_gpu = ("_get_foreach_kernels_supported_devices", lambda: ["cpu"])
    monkeypatch.setattr(module, *as_on_a_gpu)
    assert peak() == foreach
    assert peak(foreach=False) == loop
    adam, rate = torch.optim.Adam, torch.tensor(0.1)
    assert peak(adam) == peak(adam, foreach=True)
    assert peak(adam, lr=rate) == peak(adam, lr=rate, foreach=False)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_that_are_not_dropped_are_there_in_the_forward_pass(set_to_none):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(500, 500), nn.Linear(500, 500))
    batch = (torch.randn(2000, 500), torch.randint(500, (2000,)))
    job = Job(model, torch.optim.SGD(model.parameters()), nn.CrossEntropyLoss(), [batch])
    predicted = predict_memory(step_of(job, set_to_none=set_to_none), batch)
    in_forward = predicted.phases["forward"]["gradients"]
    assert in_forward == (0 if set_to_none else predicted.gradients)


@pytest.mark.filterwarnings("error")
def test_an_optimizer_of_the_engine_is_the_reason_for_small_batches():
    def prediction(kind):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(20, 30), nn.Linear(30, 10))
        batch = (torch.randn(8, 20), torch.randint(10, (8,)))
        return predict_memory(Job(model, kind(model.parameters()), nn.CrossEntropyLoss(), [batch]))

    ours, theirs = prediction(tundish.optim.AdamW), prediction(torch.optim.AdamW)
    assert ours.method == "small batches"
    assert ours.reason == "AdamW of tundish.optim needs the memory of its tensors"
    assert (ours.parameters, ours.gradients) == (theirs.parameters, theirs.gradients)
    assert is_close(ours.optimizer, theirs.optimizer)
    assert is_close(ours.peak, ours.parameters + ours.gradients + ours.optimizer + ours.batch)


def test_activations_of_a_simple_layer_match_a_count_by_hand():
    """exp() keeps its result, the linear layer its input (the batch), and sum() nothing."""
    model = nn.Linear(10, 30, bias=False)
    job = Job(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        lambda output: output.exp().sum(),
        [(torch.zeros(50, 10),)],
    )
    assert predict_memory(job).activations == 50 * 30 * 4 + 4


@pytest.mark.parametrize("samples", [2, 16])
def test_another_number_of_samples_is_predicted_without_such_a_batch(samples):
    small = predict_memory(image_job("resnet", samples=4), samples=samples)
    assert small.peak == predict_memory(image_job("resnet", samples=samples)).peak
    assert small.samples == samples


class ReadsValues(nn.Module):
    """A model whose control flow depends on values, which fake tensors lack."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x) * (1 if x.mean() > -100 else 0)


@pytest.mark.parametrize(
    ("name", "given", "samples"), [("resnet", 8, 8), ("resnet", 1, 32), ("vit", 8, 32)]
)
def test_a_model_that_reads_values_is_predicted_by_small_batches(name, given, samples):
    job = image_job(name, samples=given, optimizer=torch.optim.AdamW)
    job.model = ReadsValues(job.model)
    predicted = predict_memory(job, samples=samples)
    assert predicted.method == "small batches"
    assert predicted.reason
    large = image_job(name, samples=samples, optimizer=torch.optim.AdamW)
    large.model = ReadsValues(large.model)
    true = count_step(step_of(large), large.batches[0])
    assert is_close(predicted.peak, true.peak, 0.05)
    assert is_close(predicted.activations, true.activations, 0.05)


@pytest.mark.parametrize("reads", [False, True])
def test_nothing_is_trained_by_a_prediction(reads):
    job = image_job("resnet", optimizer=torch.optim.AdamW)
    if reads:
        job.model = ReadsValues(job.model)
    job.model(job.batches[0][0]).sum().backward()
    weights = copy.deepcopy(job.model.state_dict())
    gradients = [p.grad for p in job.model.parameters()]
    random = torch.get_rng_state()
    predict_memory(job)
    assert all(torch.equal(a, b) for a, b in zip(weights.values(), job.model.state_dict().values()))
    assert all(p.grad is g for p, g in zip(job.model.parameters(), gradients))
    assert job.optimizer.state == {}
    assert torch.equal(torch.get_rng_state(), random)


def test_a_state_that_exists_already_is_predicted_alike():
    job = image_job("vit", optimizer=torch.optim.Adam, foreach=True)
    before = predict_memory(job).peak
    step_of(job)(job.batches[0])
    after = predict_memory(job)
    assert after.peak == before
    assert after.method == "fake tensors"


def test_a_table_is_printed():
    text = str(predict_memory(image_job("resnet")))
    assert text.startswith("peak")
    assert "in the backward of 8 samples" in text
    assert "activations" in text


# --- bad input ------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_copied_is_an_argument_error():
    job = image_job("resnet")
    job.model.lock = threading.Lock()
    with pytest.raises(tundish.ArgumentError, match=r"cannot be copied.*\n  fix:"):
        predict_memory(job)


def test_a_type_error_of_the_model_is_raised_unchanged():
    job = image_job("resnet")
    job.loss_fn = lambda output: output.sum()  # takes no targets
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        predict_memory(job)


def test_a_model_whose_forward_fails_raises_its_own_error():
    job = image_job("resnet")
    job.batches = [(torch.zeros(4, 5, 32, 32), torch.zeros(4, dtype=torch.long))]
    with pytest.raises(RuntimeError, match=r"expected input.* to have 3 channels"):
        predict_memory(job)


def test_zero_samples_are_an_argument_error():
    with pytest.raises(tundish.ArgumentError, match="0 samples"):
        predict_memory(image_job("resnet"), samples=0)


def test_memory_is_measured_on_gpus_only():
    with pytest.raises(tundish.ArgumentError, match="fix: move it to a GPU"):
        measure_peak(image_job("resnet"))
