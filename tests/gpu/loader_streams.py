"""A loader and a busy GPU: streams, graphs, waiting, memory, and the copy rate of batches."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import tundish
from tundish import transforms as T
from tundish._c.library import lib

from bench.common.rows import Rows
from tests.gpu.loaders import VALUES, loader, on_gpu


def under_load(pack: Path, mode: str) -> str:
    """Runs the GPU steps behind the host, as in training.

    Computes the sum of every batch in the batch's stream.
    """
    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *VALUES]
    paths = [pack] * 100

    def sums(batches: tundish.Loader, work: Callable[[], None]) -> Any:
        out = []
        for images, labels, index in batches:
            work()
            bits = images.view(torch.int16).to(torch.int64)
            place = torch.arange(1, len(index) + 1, device=bits.device)
            out.append((bits.flatten(1).sum(1) * place).sum() + ((labels + index) * place).sum())
            del images, labels, index
        return torch.stack(out).cpu()

    big = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def work() -> None:
        for _ in range(8):
            torch.mm(big, big)

    with on_gpu(paths, mode, 256, transforms=transforms) as gpu_loader:
        got = sums(gpu_loader, work)
    expected = sums(loader(paths, 256, transforms=transforms), lambda: None)
    assert torch.equal(got, expected), f"{int((got != expected).sum())} of {len(got)} differ"
    return f"{len(got)} batches"


def in_a_graph(pack: Path, mode: str) -> str:
    """Captures the step while the loader's threads allocate memory, and replays it on batches."""
    static = torch.zeros(8, 3, 64, 64, dtype=torch.bfloat16, device="cuda")
    static = static.to(memory_format=torch.channels_last)  # a sum depends on the memory order
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        (static.float() * 2).sum()
    torch.cuda.synchronize()
    with on_gpu(pack, mode, 8, drop_last=True, prefetch=6) as gpu_loader:
        batches = iter(gpu_loader)
        old = on_gpu(pack, mode, 8)
        next(iter(old))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            time.sleep(0.2)  # meanwhile the slots are page-locked
            old.close()  # and other memory is released
            del old
            out = (static.float() * 2).sum()
        got, expected = [], []
        for images, *_ in batches:
            static.copy_(images)
            graph.replay()
            got.append(out.clone())
            expected.append((images.float() * 2).sum())
        assert torch.equal(torch.stack(got), torch.stack(expected))
    return f"{len(got)} replays"


def without_waiting(pack: Path, mode: str) -> str:
    """Makes torch raise if a torch call waits for the GPU."""
    with on_gpu(pack, mode, 16) as gpu_loader:
        for _ in range(3):
            for _ in gpu_loader:
                pass
        torch.cuda.set_sync_debug_mode("error")
        try:
            steps = sum(1 for _ in gpu_loader)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return f"{steps} steps"


def current_device_is_kept(pack: Path, mode: str) -> str:
    """Checks that the thread's current device persists, and that loaders release their memory."""
    device = torch.cuda.current_device()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free = []
    for _ in range(6):
        gpu_loader = on_gpu(pack, mode, 16)
        for _ in gpu_loader:
            assert torch.cuda.current_device() == device
        gpu_loader.close()
        del gpu_loader
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free.append(torch.cuda.mem_get_info()[0])
    assert free[-1] >= free[1] - 2**20, free
    return f"{(free[0] - free[-1]) / 2**20:.1f} MiB kept after six loaders"


def gpu_wait_is_counted(pack: Path, mode: str) -> str:
    """Delays a stream, which makes the loop wait, and checks that the wait is counted."""
    # At least one batch after the sleep was not enqueued before it. The epoch must not end, for any
    # number of photos, because the end of an epoch waits on the host.
    first, rest = 3, lib.tundish_device_prefetch_depth() + 3
    photos = len(tundish.Dataset(pack))
    copies = 1 + 16 * (first + rest) // photos
    with on_gpu([pack] * copies, mode, 16) as gpu_loader:
        batches = iter(gpu_loader)
        samples = sum(len(next(batches)[0]) for _ in range(first))
        torch.cuda.synchronize()
        before = gpu_loader.stats(reset=True)["data/gpu_wait_s"]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(gpu_loader._run.pending._stream):
            begin.record()
            torch.cuda._sleep(200_000_000)
            end.record()
        samples += sum(len(next(batches)[0]) for _ in range(rest))
        torch.cuda.synchronize()
        stats = gpu_loader.stats()
        waited, slept = stats["data/gpu_wait_s"] - before, begin.elapsed_time(end) / 1e3
        assert 0.5 * slept < waited < 2 * slept + 0.1, (waited, slept)
        assert stats["data/gpu_wait_share"] > 0
        assert samples == 16 * (first + rest)
    return f"{waited:.3f} s, of {slept:.3f}"


def ahead_of_the_gpu(pack: Path, mode: str) -> str:
    """Checks that a loop that ignores its results runs ahead of the GPU by a limited lead."""
    big = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    paths = [pack] * 100
    transforms = [T.RandomResizedCrop(128), *VALUES]
    with on_gpu(paths, mode, 64, transforms=transforms) as gpu_loader:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        steps = 0
        for images, *_ in gpu_loader:
            images.sum()
            for _ in range(4):
                torch.mm(big, big)
            steps += 1
        torch.cuda.synchronize()
        most = torch.cuda.max_memory_allocated() - before
    one = 64 * 3 * 128 * 128 * 2
    assert most < 40 * one + 3 * big.numel() * 2, f"{most / one:.1f} batches"
    return f"{steps} steps, at most {most / one:.1f} batches"


def bandwidth(pack: Path, rows: Rows) -> str:
    """Compares copies of batches with a plain copy of page-locked memory of the same size."""
    from torch.profiler import ProfilerActivity, profile

    transforms = [T.RandomResizedCrop(224), *VALUES]
    with on_gpu([pack] * 12, "cpu", 256, transforms=transforms) as gpu_loader:
        plain = torch.empty(256 * 3 * 224 * 224, dtype=torch.uint8, pin_memory=True)
        to = torch.empty_like(plain, device="cuda")
        batches = iter(gpu_loader)
        next(batches)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
            for _ in batches:
                torch.cuda.synchronize()
                to.copy_(plain, non_blocking=True)
                torch.cuda.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            seen.export_chrome_trace(f"{folder}/trace.json")
            events = json.loads(Path(f"{folder}/trace.json").read_text())["traceEvents"]
    size = plain.numel()
    rates: dict[bool, list[float]] = {False: [], True: []}
    for event in events:
        if "Memcpy HtoD" not in event.get("name", "") or event.get("cat") != "gpu_memcpy":
            continue
        copied = event["args"]["bytes"]
        if copied >= size:  # larger for the loader, whose batches include labels and sample numbers
            rates[copied > size].append(copied / event["dur"] / 1e3)
    ours = rows.add("batches of the loader", "copy", rates[True], "GB/s")
    bare = rows.add("plain page-locked memory", "copy", rates[False], "GB/s")
    assert ours >= 0.95 * bare, f"{ours:.1f} GB/s where a plain copy has {bare:.1f}"
    return f"{ours:.1f} GB/s, {ours / bare:.1%} of a plain copy's {bare:.1f}"
