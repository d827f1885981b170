"""GPU records of profiled steps, constructed by hand: the figures and causes derived from them."""

from dataclasses import replace

import pytest
import torch
from tundish.diagnosis.probe.facts import GpuFacts
from tundish.diagnosis.probe.profiles.gpu_profile import (
    GpuProfile,
    covered,
    profiler_events,
    summarize,
)
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, line, sampled, step

GPU = {"forward": 0.010, "backward": 0.020, "optimizer": 0.003}
BUSY = GpuFacts(
    steps=10,
    wall_s=0.033,
    busy_s=0.032,
    kernels=300,
    kernel_s=100e-6,
    launches=300,
    waits=0,
    wait_s=0,
    pageable_copy_s=0,
    pinned_copy_s=0,
)


def command_verdict(gpu=None, lines=(), **profile):
    seen = replace(BUSY, **profile)
    steps = [step(gpu=gpu or GPU) for _ in range(20)]
    return judge(facts(steps, gpu_profile=seen, lines=list(lines), script="train.py"))


def test_a_busy_gpu_is_bound_by_the_model():
    assert command_verdict().cause.name == "compute"


def test_short_kernels_with_gaps_are_bound_by_their_launches():
    verdict = command_verdict(busy_s=0.012, kernels=2000, kernel_s=6e-6)
    assert (verdict.cause.name, verdict.cause.detail) == ("launch", "2000 kernels of 6 us")
    assert "The GPU is idle 64 % of every step between 2000 kernels of 6 us" in str(verdict)
    change = next(one for one in verdict.changes if "CUDA graph" in one.what)
    assert change.predicted_s == pytest.approx(0.014)  # 1 us between two kernels of a graph
    assert change.how == "tundish tune train.py:build"


def test_a_host_that_waits_in_every_step_is_reported_with_its_line():
    lines = [line("other", 0.5, name="item")]
    verdict = command_verdict(busy_s=0.016, waits=1, wait_s=0.016, lines=lines)
    assert (verdict.cause.name, verdict.cause.detail) == ("sync", "train.py:9 (item)")
    assert "because the host waits for it: train.py:9 (item)." in verdict.sentence
    assert verdict.changes[0].how == "train.py:9 (item)"
    assert verdict.changes[0].predicted_s == pytest.approx(0.017)  # the host's own work


def test_short_waits_of_copies_are_not_the_cause():
    """Copies from pageable memory wait briefly; a busy host leaves the GPU idle for much longer."""
    gpu = {"forward": 0.010, "other": 0.023}
    lines = [line("other", 0.5, name="log")]
    verdict = command_verdict(gpu, busy_s=0.010, waits=2, wait_s=0.0001, lines=lines)
    assert (verdict.cause.name, verdict.cause.detail) == ("host", "train.py:9 (log)")
    verdict = command_verdict(busy_s=0.012, kernels=2000, kernel_s=6e-6, waits=2, wait_s=0.0001)
    assert verdict.cause.name == "launch"


def test_a_wait_that_does_not_leave_the_gpu_idle_costs_nothing():
    assert command_verdict(waits=1, wait_s=0.03).cause.name == "compute"


@pytest.mark.parametrize(
    ("pageable", "pinned", "detail"), [(0.02, 0, "from pageable memory"), (0, 0.02, "")]
)
def test_copies_are_reported_with_their_source_memory(pageable, pinned, detail):
    gpu = {**GPU, "copy": 0.030}
    verdict = command_verdict(gpu, pageable_copy_s=pageable, pinned_copy_s=pinned)
    assert (verdict.cause.name, verdict.cause.detail) == ("copy", detail)


def test_streams_that_run_at_the_same_time_count_once():
    assert covered([]) == 0
    assert covered([(3, 4), (0, 2), (1, 2.5), (0.5, 1)]) == pytest.approx(3.5)


def test_events_of_the_profiler_are_summed_by_step():
    events = [
        ("void gemm", True, 0.0, 0.2),
        ("Memcpy HtoD (Pageable -> Device)", True, 0.1, 0.3),
        ("Memcpy HtoD (Pinned -> Device)", True, 0.4, 0.5),
        ("Memset (Device)", True, 0.5, 0.6),
        ("cudaLaunchKernel", False, 0.0, 0.01),
        ("cudaStreamSynchronize", False, 0.7, 0.9),
        ("cudaMemcpyAsync", False, 0.7, 0.9),
    ]
    longer = [*events, ("cudaMemcpyAsync", False, 1.0, 1.5)]
    found = summarize(events, 2, 2.0)
    assert found.busy_s == pytest.approx((0.3 + 0.2) / 2)
    assert (found.kernels, found.launches, found.waits) == (0.5, 0.5, 0.5)
    assert found.kernel_s == pytest.approx(0.2)
    assert (found.wait_s, found.wall_s) == pytest.approx((0.1, 1.0))
    assert summarize(longer, 2, 2.0).wait_s == pytest.approx((0.2 + 0.7 - 0.3) / 2)
    assert (found.pageable_copy_s, found.pinned_copy_s) == pytest.approx((0.1, 0.05))


def test_a_profiler_that_fails_does_not_end_the_script(monkeypatch):
    def fails(**words):
        raise RuntimeError("another profiler is active")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.profiler, "profile", fails)
    profile = GpuProfile()
    profile.start()
    profile.stop(5, 1.0)
    assert profile.summary is None
    assert "another profiler is active" in profile.failed
    text = str(
        judge(facts([step()] * 9, gpu_profile=None, gpu_profile_missing_reason=profile.failed))
    )
    assert "the GPU could not be profiled: RuntimeError: another profiler" in text


def test_events_of_torchs_own_profiler_can_be_read():
    """Profiles a CPU, because its events have the same classes as GPU events."""
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU]) as profiler:
        torch.ones(100).sum()
    events = {name: (on_gpu, end - begin) for name, on_gpu, begin, end in profiler_events(profiler)}
    on_gpu, seconds = events["aten::sum"]
    assert not on_gpu
    assert 0 < seconds < 60


def test_loading_that_overlaps_the_gpu_is_predicted_from_its_full_time():
    """The loop takes 160 ms, of which the GPU sees 84 ms: one worker is not enough."""
    gpu = {"data": 0.084, "forward": 0.087}
    steps = [step(gpu=gpu, data=0.160, forward=0.01, backward=0, cpu_s=0.002) for _ in range(20)]
    rows = [("Samples.read", "read", 0.016, 0.016)]
    loader = sampled(rows, 0.016, blocked_s=0.016, workers=0)
    verdict = judge(facts(steps, loader=loader, gpu_profile=BUSY, script="train.py"))
    assert verdict.cause.name == "workers"
    workers = next(one for one in verdict.changes if one.apply.startswith("workers="))
    assert (workers.apply, workers.predicted_s) == ("workers=2", pytest.approx(0.087))
    faster = next(one for one in verdict.changes if one.what.startswith("read faster"))
    assert faster.predicted_s == pytest.approx(0.087)
