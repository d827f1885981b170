"""Tools that measure layers: CPU and GPU clocks, the machine's roof, layers timed alone."""

import contextlib
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from tundish.diagnosis.probe.layers.layer_clocks import GpuClock, WallClock
from tundish.diagnosis.probe.layers.layer_facts import Convolution, LayerFacts, RoofFacts
from tundish.diagnosis.probe.layers.profile import LayerProfile
from tundish.diagnosis.probe.layers.roof import measure_roof
from tundish.diagnosis.probe.layers.trials import needs_16_bits, padded_sizes, with_trials

ROOF = RoofFacts(1e10, {"fp32": 1e11}, 0.0)


def test_the_roof_is_measured_and_nothing_stays_changed():
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16):
        found = measure_roof(torch.device("cpu"), ["fp32", "fp32"])
    assert torch.rand(2).equal(expected)
    assert found.bytes_per_s > 0
    assert list(found.flops_per_s) == ["fp32"]
    assert measure_roof(torch.device("cpu"), ["no_such_type"]).flops_per_s == {}


def test_the_wall_clock_leaves_out_what_hooks_take():
    ticks = iter([0.0, 1.0, 5.0, 7.0, 8.0])
    clock = WallClock(lambda: next(ticks))
    clock.moved(3, False)  # at 1
    clock.resumed()  # at 5
    clock.moved(4, True)  # at 7
    clock.resumed()
    assert clock.step_ended() == {(3, False): 1.0, (4, True): 2.0}
    assert clock.step_ended() == {}


def test_on_a_gpu_the_host_gets_ahead_in_timed_steps_only(monkeypatch):
    """Simulates a GPU whose events read the wall clock."""
    slept, made = [], []
    where = "tundish.diagnosis.probe.layers.profile"
    monkeypatch.setattr(
        f"{where}.gpu_clock", lambda: GpuClock(lambda: Event(time.time() * 1e3), lambda: None)
    )
    monkeypatch.setattr(f"{where}.measure_roof", lambda *words: ROOF)
    monkeypatch.setattr(f"{where}.with_trials", lambda rows, device: rows)
    monkeypatch.setattr(torch.cuda, "_sleep", slept.append, raising=False)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    profile = LayerProfile()
    assert profile.start(model, threading.get_ident(), host_s=0.01)
    profile._device = SimpleNamespace(type="cuda")
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        made.append(len(slept))
        profile.step_ended()
    profile.stop()
    assert profile.missing_reason == ""
    assert made == [0, 1, 2]
    assert slept[0] >= 0.015 * 1e9
    assert {one.name for one in profile.result.rows} == {"", "0", "1"}
    assert all(one.backward_s >= 0 for one in profile.result.rows)


def off_eight(**more):
    row = {"type": "Linear", "types": {"bf16": 9}, "shape_in": [4, 30], "shape_out": [4, 17]}
    return LayerFacts("a", **{**row, **more}, forward_s=1.0, backward_s=1.0)


CONV = Convolution(3, 10, 1, [3, 3], [1, 1], "")


@pytest.mark.parametrize(
    ("row", "padded"),
    [
        (off_eight(), (32, 24)),
        (off_eight(types={"tf32": 9}), (32, 20)),
        (off_eight(types={"fp32": 9}), None),
        (off_eight(shape_in=[4, 32], shape_out=[4, 16]), None),
        (off_eight(type="Conv2d", conv=CONV, shape_in=[2, 3, 8, 8]), (3, 16)),
        (off_eight(type="Conv2d", conv=replace(CONV, groups=3), shape_in=[2, 3, 8, 8]), None),
        (off_eight(type="Embedding"), None),
    ],
)  # fmt: skip
def test_padded_sizes_are_timed_where_tensor_cores_want_others(row, padded):
    assert padded_sizes(row) == padded
    (row,) = with_trials([row], torch.device("cpu"))
    assert (row.padded is not None) == (padded is not None)
    assert (row.in_bf16 is not None) == (row.types == {"fp32": 9})


@pytest.mark.parametrize(
    ("row", "needs"),
    [
        (off_eight(types={"fp32": 9}), True),
        (off_eight(types={"float64": 9}), True),
        (off_eight(types={"fp32": 9, "bf16": 10}), False),
        (off_eight(types={"tf32": 9}), False),
        (off_eight(types={"fp32": 9}, type="Embedding"), False),
        (off_eight(types={"fp32": 9}, type="Conv2d", conv=CONV, shape_in=[2, 3, 8, 8]), True),
        (off_eight(types={"fp32": 9}, type="Conv2d", conv=Convolution(6, 9, 3, [3, 3], [1, 1], ""), shape_in=[2, 6, 8, 8]), True),
    ],
)  # fmt: skip
def test_layers_without_tensor_cores_are_timed_under_autocast(row, needs):
    kinds = []
    watched = torch.overrides.TorchFunctionMode

    class Watch(watched):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function in (torch.nn.functional.linear, torch.conv2d):
                kinds.append((args[0].dtype, torch.is_autocast_enabled("cpu")))
            return function(*args, **(kwargs or {}))

    assert needs_16_bits(row) == needs
    with Watch():
        (row,) = with_trials([row], torch.device("cpu"))
    assert (row.in_bf16 is not None) == needs
    now = torch.float64 if "float64" in row.types else torch.float32
    assert set(kinds) >= ({(now, False), (torch.float32, True)} if needs else set())
    assert torch.is_autocast_enabled("cpu") is False


class Event:
    def __init__(self, at):
        self.at = at

    def elapsed_time(self, other):
        return other.at - self.at


def test_the_gpus_clock_reads_events_after_the_step():
    ticks, waited = iter([0.0, 10.0, 30.0, None, 60.0, 100.0]), []

    def record():
        at = next(ticks)
        return None if at is None else Event(at)

    clock = GpuClock(record, lambda: waited.append(1))
    for owner, backward in (
        (None, False),
        (0, False),
        (1, False),
        (1, False),
        (None, False),
        (0, True),
    ):
        clock.moved(owner, backward)
    assert waited == []
    seconds = clock.step_ended()
    assert seconds == pytest.approx({(0, False): 0.010, (1, False): 0.020, (0, True): 0.040})
    assert waited == [1]
