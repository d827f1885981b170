"""`tundish.doctor(memory_lines=True)`: a step's peak by line and kind, on a CPU and a recorded GPU."""

import gc
import json
import random
import time
from collections import Counter
from dataclasses import asdict

import pytest
import torch
import tundish
from torch.utils.data import DataLoader, TensorDataset
from tundish.diagnosis.memory.allocation_sites import AllocationSite, allocation_site
from tundish.diagnosis.memory.block_history import KINDS, MemoryRecording
from tundish.diagnosis.memory.cuda_blocks import (
    CudaTracker,
    allocated_blocks,
    name_blocks,
    trace_blocks,
)
from tundish.diagnosis.memory.explain import explain
from tundish.diagnosis.memory.predicted import inner_model
from tundish.diagnosis.report.memory_section import memory_chart
from tundish.tuning.memory.live_memory import Block
from tundish.tuning.memory.training_tensors import find_owners, owned_tensors
from tundish.tuning.source_lines import Line

from tests.helpers.written_records import alloc, free, recorded_of_gpu

WIDE, BATCH = 64, 8


def model_of():
    layers = [torch.nn.Linear(WIDE, WIDE), torch.nn.ReLU(), torch.nn.Linear(WIDE, WIDE)]
    return torch.nn.Sequential(*layers)


def watched(kept=None, count=60, set_to_none=True):
    """Runs a watched loop; losses appended to `kept` stay alive."""
    torch.set_num_threads(1)
    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), 1e-5)
    data = TensorDataset(torch.zeros(BATCH * count, WIDE))
    with tundish.doctor(steps=5, cached_batches=False, layers=False, memory_lines=True) as doctor:
        for (x,) in DataLoader(data, BATCH):
            out = model(x)  # line of the forward pass
            loss = out.square().mean()
            optimizer.zero_grad(set_to_none=set_to_none)
            loss.backward()  # line of the backward pass
            optimizer.step()
            if kept is not None:
                kept.append(loss)
    return doctor.verdict, model, optimizer


def line_of(words):
    with open(__file__) as file:
        return next(n for n, text in enumerate(file, 1) if words in text and "line_of" not in text)


@pytest.fixture(scope="module")
def plain():
    unused = torch.nn.LazyLinear(4)  # parameters without memory yet
    gc.collect()
    before = owned_bytes()  # includes models that other tests left in this process
    found = watched()
    assert unused.has_uninitialized_params()
    return *found, before


def owned_bytes():
    sizes = {}
    for kind, tensors in owned_tensors(find_owners()):
        for one in tensors:
            if isinstance(one, torch.Tensor) and one.device.type == "cpu":
                sizes[one.untyped_storage().data_ptr()] = kind, one.untyped_storage().nbytes()
    out = Counter()
    for kind, size in sizes.values():
        out[kind] += size
    return out


def test_the_peak_has_every_kind_with_its_bytes_and_lines(plain):
    verdict, model, _, before = plain
    found = verdict.as_json()["memory"]
    json.dumps(found, allow_nan=False)
    assert found["notes"] == []
    kinds = found["kinds"]
    parameters = sum(p.numel() * 4 for p in model.parameters())
    assert kinds["parameters"] == parameters + before["parameters"]
    state = 2 * parameters + 4 * len(list(model.parameters()))
    assert kinds["optimizer"] == state + before["optimizer"]
    assert sum(kinds.values()) == found["peak_bytes"]
    assert sum(one["bytes"] for one in found["rows"]) + found["rest_bytes"] == found["peak_bytes"]
    lines = {(one["kind"], one["line"]): one["bytes"] for one in found["rows"]}
    # The output of the first layer, which ReLU and the second layer share, and the model's output.
    curve = found["curve"]["kinds"]["activations"]
    assert max(curve) >= 2 * BATCH * WIDE * 4
    forward, backward = line_of("# line of the forward"), line_of("# line of the backward")
    assert {line for kind, line in lines if kind == "gradients"} == {backward}
    activations = {line for kind, line in lines if kind == "activations"}
    assert activations <= {forward, forward + 1}
    assert {one["file"] for one in found["rows"] if one["line"]} == {__file__}
    assert found["part"] == "optimizer"  # Adam's temporaries, because the batch is small
    assert "Memory at the peak of a step" in str(verdict)
    assert memory_chart(found["curve"]).count("<polygon") == len(found["curve"]["kinds"])


def test_the_report_includes_the_tuners_prediction(plain):
    verdict, _, _, before = plain
    found = verdict.as_json()["memory"]
    assert found["predicted_missing_reason"] == ""
    predicted = found["predicted"]
    assert predicted["method"] == "fake tensors"
    data = found["kinds"]["other"]  # the dataset is in memory but not part of a step
    assert data == 60 * BATCH * WIDE * 4
    own = found["peak_bytes"] - data - before.total()
    assert predicted["peak_bytes"] == pytest.approx(own, rel=0.05)
    assert predicted["kinds"]["optimizer"] == found["kinds"]["optimizer"] - before["optimizer"]


def test_the_prediction_is_for_the_model_inside_a_parallel_one():
    model = torch.nn.Linear(2, 2)
    assert inner_model(torch.nn.DataParallel(model)) is model

    class Spread(torch.nn.Parameter):
        pass

    model.weight = Spread(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="sharded over several ranks"):
        inner_model(model)


def test_gradients_that_are_kept_have_the_line_of_backward():
    found = watched(set_to_none=False)[0].as_json()["memory"]["rows"]
    lines = {one["line"] for one in found if one["kind"] == "gradients"}
    assert lines == {line_of("# line of the backward pass")}


def test_kept_losses_are_reported_as_growing_with_their_graph():
    kept = []
    verdict, _, _ = watched(kept)
    found = verdict.as_json()["memory"]["long_lived"]
    (grows,) = [one for one in found if one["reason"] == "grows"]
    assert grows["line"] == line_of("out.square().mean()")
    assert grows["holds_graph"]
    assert grows["bytes_per_step"] == 4
    assert "grows, 4 B more in each step: test_doctor_memory.py" in str(verdict)


def test_training_is_the_same_with_the_recorder():
    """Compares gradients and steps of a watched model with a plain loop."""
    torch.manual_seed(0)
    _, model, _ = watched(count=40)
    torch.manual_seed(0)
    plain = model_of()
    optimizer = torch.optim.Adam(plain.parameters(), 1e-5)
    for _ in range(40):
        optimizer.zero_grad()
        plain(torch.zeros(BATCH, WIDE)).square().mean().backward()
        optimizer.step()
    for ours, theirs in zip(model.parameters(), plain.parameters()):
        assert torch.equal(ours, theirs)
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert not model._forward_pre_hooks


def test_a_loop_without_modules_has_a_note():
    torch.set_num_threads(1)
    weight = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    with tundish.doctor(steps=5, cached_batches=False, layers=False, memory_lines=True) as doctor:
        for (x,) in DataLoader(TensorDataset(torch.zeros(160, 4)), 4):
            (x @ weight).sum().backward()
            optimizer.step()
    assert doctor.verdict.as_json()["memory"] is None
    assert "memory: recording failed: RuntimeError: the loop calls no torch module" in str(
        doctor.verdict
    )


# --- a recorded GPU history ---------------------------------------------------------------------


def test_a_history_of_the_allocator_becomes_blocks():
    segments = [
        {
            "device": 0,
            "address": 1000,
            "blocks": [
                {"size": 512, "state": "active_allocated"},
                {"size": 512, "state": "inactive"},
                {"size": 1024, "state": "active_allocated"},
            ],
        },
        {"device": 1, "address": 5000, "blocks": [{"size": 9, "state": "active_allocated"}]},
    ]
    before = allocated_blocks({"segments": segments}, 0)
    assert before == {1000: 512, 2024: 1024}
    trace = [alloc(7, 100, 3), free(1000), alloc(1000, 512, 4), free(7), free(999), alloc(7, 600)]
    trace += [{"action": "segment_alloc", "addr": 7, "size": 1}]
    found = trace_blocks(trace, before, {7: 2048})
    assert [(b.bytes, b.made, b.freed) for b in found[7]] == [(512, 1, 3), (2048, 6, None)]
    assert [(b.bytes, b.made, b.freed) for b in found[1000]] == [(512, 0, 1), (512, 3, None)]
    assert found[7][0].line.script == Line("/a/train.py", 3)
    name_blocks(found, [(2, {7: "gradients"}), (7, {1000: "parameters", 4: "x"})])
    assert [b.kind for b in found[7]] == ["gradients", "temporary"]
    assert [b.kind for b in found[1000]] == ["other", "parameters"]


def test_the_peak_of_a_gpu_step_is_explained_like_on_a_cpu():
    found = asdict(explain(recorded_of_gpu()))
    assert found["kinds"] == {
        "parameters": 20_480,
        "gradients": 20_480,
        "batch": 10_240,
        "activations": 50_176 + 30_208 + 512,
        "other": 512,  # the loss of the previous step
        "rounding": 140_000 - 132_608,  # the additional bytes that torch counts
    }
    assert found["part"] == "backward"
    assert found["torch_peak_bytes"] == found["peak_bytes"] == 140_000
    assert sum(one["bytes"] for one in found["rows"]) == 140_000
    lines = {(one["kind"], one["line"]): one["bytes"] for one in found["rows"]}
    assert lines["activations", 6] == 50_176
    assert lines["batch", 5] == 10_240
    # Autograd's thread runs no Python code: its tensors have the line of backward().
    gradient = next(one for one in found["rows"] if one["kind"] == "gradients")
    assert gradient["inner"] == "train.py:24"
    (grows,) = found["long_lived"]
    assert (grows["reason"], grows["line"], grows["bytes"]) == ("grows", 8, 1024)


def test_the_curve_equals_the_sum_of_live_blocks_at_every_position():
    """The reference implementation sums all live blocks at each position."""
    numbers = random.Random(3)
    for _ in range(50):
        blocks = []
        for _ in range(numbers.randrange(1, 60)):
            made = numbers.randrange(0, 40)
            freed = None if numbers.random() < 0.3 else made + numbers.randrange(0, 20)
            kind = numbers.choice(["parameters", "other", "gradients"])
            block = Block(numbers.randrange(1, 1000), kind, Line("/a.py", made), made, made)
            block.freed = freed
            blocks.append(block)
        begin, end = sorted(numbers.sample(range(1, 40), 2))
        found = asdict(explain(MemoryRecording("cpu", blocks, [], [begin, end])))

        def at(position, blocks=blocks):
            alive = [b for b in blocks if b.made <= position <= (b.freed or position)]
            return sum(b.bytes for b in alive if b.freed is None or b.freed >= position)

        assert found["peak_bytes"] == max(at(position) for position in range(begin, end))
        rows = sum(one["bytes"] for one in found["rows"]) + found["rest_bytes"]
        assert rows == found["peak_bytes"]
        assert set(found["kinds"]) <= set(KINDS)
        assert len(found["curve"]["parts"]) <= 160


def test_the_line_in_a_package_is_shown_with_the_users_line():
    package = torch.__file__.replace("torch/__init__.py", "torchvision/models/resnet.py")
    frames = [(torch.__file__, 1), (package, 92), ("/home/me/net.py", 7), ("/home/me/train.py", 3)]
    place = allocation_site(frames)
    assert place.script == Line("/home/me/net.py", 7)
    assert place.inner == "resnet.py:92"
    assert allocation_site(frames[2:]).inner == ""
    assert allocation_site([]) == AllocationSite()


class Allocator:
    """Replaces the torch.cuda functions that CudaTracker calls."""

    def __init__(self, monkeypatch, records=False):
        self.trace, self.live, self.enabled = [], {}, records
        cuda = torch.cuda
        monkeypatch.setattr(cuda, "synchronize", lambda device: None)
        monkeypatch.setattr(cuda, "reset_peak_memory_stats", lambda device: None)
        monkeypatch.setattr(cuda, "max_memory_allocated", lambda device: 9 * 512)
        monkeypatch.setattr(cuda.memory, "_snapshot", self.snapshot)
        monkeypatch.setattr(cuda.memory, "_record_memory_history", self.record)
        monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: self.enabled, raising=False)

    def record(self, enabled, **words):
        self.enabled = enabled is not None

    def snapshot(self):
        blocks = [
            {"size": s, "state": "active_allocated", "address": a} for a, s in self.live.items()
        ]
        return {"segments": [{"device": 0, "blocks": blocks}], "device_traces": [list(self.trace)]}

    def add(self, event):
        time.sleep(0.002)  # event times are in microseconds
        if event["action"] == "alloc":
            self.live[event["addr"]] = event["size"]
        else:
            self.live.pop(event["addr"])
        if self.enabled:
            self.trace.append({**event, "time_us": time.time_ns() // 1000})
        time.sleep(0.002)


def test_the_history_is_read_between_the_marks_of_the_loop(monkeypatch):
    allocator = Allocator(monkeypatch)
    allocator.add(alloc(1, 512))
    tracker = CudaTracker(torch.device("cuda", 0))
    tracker.begin([("parameters", [torch.zeros(1), None])])  # a CPU tensor
    for number in range(2):
        tracker.mark("forward", allocation_site([("/a/train.py", 3)]))
        allocator.add(alloc(2, 1024, 3))
        tracker.mark("backward", allocation_site([("/a/train.py", 4)]))
        allocator.add(alloc(3, 512))
        allocator.add(free(2))
        if number == 0:
            allocator.add(free(3))
        tracker.step_ended([])
    tracker.end()
    assert not allocator.enabled
    found = asdict(explain(tracker.recorded()))
    assert found["steps"] == 2
    assert found["kinds"] == {
        "activations": 1024,
        "temporary": 512,
        "other": 512,
        "rounding": 9 * 512 - 2048,
    }
    lines = {(one["kind"], one["line"]) for one in found["rows"]}
    assert lines >= {("activations", 3), ("temporary", 4), ("other", 0)}
    assert [one["reason"] for one in found["long_lived"]] == ["grows"]  # zero, then one tensor


def test_a_memory_history_started_by_the_script_is_left_alone(monkeypatch):
    allocator = Allocator(monkeypatch, records=True)
    tracker = CudaTracker(torch.device("cuda", 0))
    with pytest.raises(RuntimeError, match="records the allocator's history itself"):
        tracker.begin([])
    tracker.end()
    assert allocator.enabled
