"""What runs on a GPU, checked on one: `Loader(device="cuda")`.

    ./dev gpu run loader     on a machine with a GPU, driver, Python and torch

Every batch is compared with that of a loader without device=: types, layouts, roads, data with
other codecs and damage, resumed and left early, kept, in a CUDA graph, with two loaders at once.
Then: whether a step waits for the GPU on the host, and how fast batches are copied. Prints a line
per check; the last line counts them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import tundish
from tundish import transforms as T
from tundish._c.library import lib

from bench.common.rows import Rows

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP = [T.RandomResizedCrop(64), T.RandomHorizontalFlip()]
VALUES = [T.ToDtype("bfloat16", scale=True), T.Normalize(MEAN, STD)]
ROADS: dict[str, dict[str, Any]] = {
    "cpu": {"decode": "cpu"},
    "gpu": {"decode": "gpu"},
    "auto": {"decode": "auto"},
    "resident": {"resident": True},
}


def loader(path: Any, batch_size: int = 16, **more: Any) -> tundish.Loader:
    options: dict[str, Any] = {"shuffle": True, "seed": 5, "return_index": True, **more}
    options.setdefault("transforms", [*CROP, *VALUES])
    return tundish.Loader(path, batch_size, **options)


def on_gpu(path: Any, road: str, batch_size: int = 16, **more: Any) -> tundish.Loader:
    return loader(path, batch_size, device="cuda", **ROADS[road], **more)


def same(there: Any, here: Any) -> None:
    for a, b in zip(there, here, strict=True):
        assert a.is_cuda
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.stride() == b.stride()
        assert torch.equal(a.cpu(), b), "other values"


def compare(there: tundish.Loader, here: tundish.Loader, epochs: int = 2) -> int:
    count = 0
    for _ in range(epochs):
        for one, other in zip(there, here, strict=True):
            same(one, other)
            count += 1
    return count


class Checks:
    def __init__(self) -> None:
        self.done = self.failed = 0

    def __call__(self, name: str, check: Callable[[], Any]) -> None:
        begin = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = check()
            print(f"ok      {name}: {told} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception as error:
            self.failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
        self.done += 1


def types_and_layouts(pack: Path, road: str) -> str:
    count = 0
    for dtype in (None, "float32", "float16", "bfloat16"):
        values = [] if dtype is None else [T.ToDtype(dtype, scale=True)]
        for crop in (CROP, [T.Resize(70), T.CenterCrop(63)]):
            for layout in ("channels_last", "contiguous"):
                more = {"transforms": [*crop, *values], "memory_format": layout, "threads": 2}
                with on_gpu(pack, road, 13, **more) as there:
                    count += compare(there, loader(pack, 13, **more), epochs=1)
    return f"{count} batches equal"


def other_codecs(mixed: Path, road: str) -> str:
    with on_gpu(mixed, road, 8) as there:
        return f"{compare(there, loader(mixed, 8))} batches equal"


def other_fields(mixed: Path, road: str) -> str:
    """Captions are those of their images, whoever decodes."""
    count = 0
    with on_gpu(mixed, road, 8, as_dict=True) as there:
        for one, other in zip(there, loader(mixed, 8, as_dict=True), strict=True):
            assert one.keys() == other.keys()
            assert one["caption"] == other["caption"]
            same([one["image"], one["label"]], [other["image"], other["label"]])
            count += len(one["caption"])
    return f"{count} captions"


def damaged(pack: Path, road: str) -> str:
    """Bytes in the middle of every tenth photo's record are others: skipped or replaced alike."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "damaged.tnd"
        content = bytearray(pack.read_bytes())
        for at in range(300_000, len(content) - 300_000, 900_000):
            content[at : at + 20] = bytes(20)
        copy.write_bytes(content)
        count = bad = 0
        for policy in ("skip", "substitute"):
            here = loader(copy, 16, on_error=policy)
            with on_gpu(copy, road, 16, on_error=policy) as there:
                count += compare(there, here)
                assert there.bad_samples() == here.bad_samples()
                bad += len(here.bad_samples())
        assert bad > 0
    return f"{count} batches equal, {bad} bad samples told alike"


def undecodable(packs: tuple[Path, Path], road: str) -> str:
    """Records that pass their checksums and that no kernel decodes: zeros, named as the CPU does."""
    pack, hostile = packs
    here = loader(hostile, 16, on_error="skip")
    sum(1 for _ in here)
    expected = {one["sample"]: {**one, "delivered": "zeros"} for one in here.bad_samples()}
    assert expected
    count, order = 0, []
    with on_gpu(hostile, road, 16, on_error="skip") as there:
        for (images, labels, index), sound in zip(there, loader(pack, 16), strict=True):
            bad = torch.tensor([number in expected for number in index.tolist()])
            wanted = sound[0].clone()
            wanted[bad] = 0
            assert torch.equal(images.cpu(), wanted)
            assert torch.equal(labels.cpu(), sound[1])
            count += len(index)
            order += index.tolist()
        listed = there.bad_samples()
        assert {one["sample"]: one for one in listed} == expected
        assert all(order[one["position"]] == one["sample"] for one in listed)
        report = there.report()
        assert report["bad"] == report["zeros"] == len(expected)
        assert report["delivered"] == count
        assert report["replaced"] == report["skipped"] == 0
        for _ in there:  # and left, while refusals are on their way
            break
        sum(1 for _ in there)
        assert there.report()["zeros"] >= 2 * len(expected)
    return f"{len(expected)} of {count} images are zeros and named as by the CPU"


def undecodable_raised(packs: tuple[Path, Path], road: str) -> str:
    """With on_error="fail" each is raised, and beyond max_bad there is an error; no batch is lost."""
    _, hostile = packs
    texts, delivered = [], 0
    here = loader(hostile, 16, on_error="skip")
    steps = sum(1 for _ in here)
    with on_gpu(hostile, road, 16, on_error="fail") as there:
        batches = iter(there)
        while True:
            try:
                delivered += bool(next(batches))
            except tundish.SampleError as error:
                texts.append(str(error))
            except StopIteration:
                break
    assert delivered == steps
    assert sorted(texts) == sorted(one["text"] for one in here.bad_samples())
    with on_gpu(hostile, road, 16, on_error="skip", max_bad=0.01) as there:
        codes = []
        batches = iter(there)
        while True:
            try:
                next(batches)
            except tundish.Error as error:
                codes.append(error.code)
            except StopIteration:
                break
        assert codes, "max_bad was not told"
        assert set(codes) == {"TND-605"}
    return f"{len(texts)} raised, {len(codes)} by max_bad"


def resumed(pack: Path, road: str) -> str:
    here = list(loader(pack))
    for step in range(len(here)):
        with on_gpu(pack, road) as first:
            for number, _ in enumerate(first):
                if number == step:
                    break
            state = first.state_dict()
        with on_gpu(pack, road) as second:
            second.load_state_dict(state)
            rest = [tuple(t.cpu() for t in batch) for batch in second]
        assert len(rest) == len(here) - step - 1, (len(rest), step)
        for one, other in zip(rest, here[step + 1 :], strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    return f"{len(here)} places"


def kept_and_dropped(pack: Path, road: str) -> str:
    """Batches that are kept stay; those that are dropped at once are read by the step before."""
    with on_gpu(pack, road, 8) as there:
        kept = [batch for _ in range(4) for batch in there]
        torch.cuda.synchronize()
        plain = loader(pack, 8)
        for one, other in zip(kept, (b for _ in range(4) for b in plain), strict=True):
            same(one, other)
    with on_gpu(pack, road, 8) as there:
        big = torch.randn(4096, 4096, device="cuda")
        sums = []
        for images, *_ in there:
            for _ in range(20):  # the GPU is far behind when the batch is dropped
                big = big @ big * 1e-4
            sums.append(images.float().sum() + 0 * big[0, 0].nan_to_num())
            del images
        expected = [images.cuda().float().sum() for images, *_ in loader(pack, 8)]
        torch.testing.assert_close(torch.stack(sums), torch.stack(expected))
    return f"{len(kept)} kept, {len(sums)} dropped"


def under_load(pack: Path, road: str) -> str:
    """The GPU is steps behind the host, as in training; every batch is summed up in its stream."""
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

    with on_gpu(paths, road, 256, transforms=transforms) as there:
        got = sums(there, work)
    expected = sums(loader(paths, 256, transforms=transforms), lambda: None)
    assert torch.equal(got, expected), f"{int((got != expected).sum())} of {len(got)} differ"
    return f"{len(got)} batches"


def left_early(pack: Path, road: str) -> str:
    for leave in range(6):
        there = on_gpu(pack, road, 8)
        for number, _ in enumerate(there):
            if number == leave:
                break
        if leave % 2:
            there.close()
        else:
            del there
    with on_gpu(pack, road, 8) as there:
        try:
            for _ in there:
                raise KeyError
        except KeyError:
            pass
        batches, state = iter(there), there.state_dict()
        same(next(batches), loader(pack, 8).replay(state).batch)
    return "6 times"


def two_at_once(pack: Path, road: str) -> str:
    one, two = on_gpu(pack, road, 8, seed=1), on_gpu(pack, "cpu", 8, seed=2)
    pairs = zip(one, loader(pack, 8, seed=1), two, loader(pack, 8, seed=2), strict=True)
    for a, b, c, d in pairs:
        same(a, b)
        same(c, d)
    one.close()
    two.close()
    return "equal"


def in_a_graph(pack: Path, road: str) -> str:
    """The step is recorded while the loader's threads take their memory, and replayed on batches."""
    static = torch.zeros(8, 3, 64, 64, dtype=torch.bfloat16, device="cuda")
    static = static.to(memory_format=torch.channels_last)  # sums are added up in memory order
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        (static.float() * 2).sum()
    torch.cuda.synchronize()
    with on_gpu(pack, road, 8, drop_last=True, prefetch=6) as there:
        batches = iter(there)
        old = on_gpu(pack, road, 8)
        next(iter(old))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            time.sleep(0.2)  # meanwhile the slots are page-locked
            old.close()  # and others are given back
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


def without_waiting(pack: Path, road: str) -> str:
    """torch raises when one of its calls waits for the GPU."""
    with on_gpu(pack, road, 16) as there:
        for _ in range(3):
            for _ in there:
                pass
        torch.cuda.set_sync_debug_mode("error")
        try:
            steps = sum(1 for _ in there)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return f"{steps} steps"


def the_device_stays(pack: Path, road: str) -> str:
    """What is current in this thread is as it was; memory comes back when loaders are gone."""
    device = torch.cuda.current_device()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free = []
    for _ in range(6):
        there = on_gpu(pack, road, 16)
        for _ in there:
            assert torch.cuda.current_device() == device
        there.close()
        del there
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free.append(torch.cuda.mem_get_info()[0])
    assert free[-1] >= free[1] - 2**20, free
    return f"{(free[0] - free[-1]) / 2**20:.1f} MiB kept after six loaders"


def what_it_waited(pack: Path, road: str) -> str:
    """A stream that is held up for a while makes the loop wait, and that is counted."""
    # Behind the sleep comes at least one batch that was not enqueued before it, and the epoch does
    # not end, whatever the number of photos: the end of an epoch waits on the host.
    first, rest = 3, lib.tundish_device_lead() + 3
    photos = len(tundish.Dataset(pack))
    copies = 1 + 16 * (first + rest) // photos
    with on_gpu([pack] * copies, road, 16) as there:
        batches = iter(there)
        samples = sum(len(next(batches)[0]) for _ in range(first))
        torch.cuda.synchronize()
        before = there.stats(reset=True)["data/gpu_wait_s"]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(there._run.pending._stream):
            begin.record()
            torch.cuda._sleep(200_000_000)
            end.record()
        samples += sum(len(next(batches)[0]) for _ in range(rest))
        torch.cuda.synchronize()
        stats = there.stats()
        waited, slept = stats["data/gpu_wait_s"] - before, begin.elapsed_time(end) / 1e3
        assert 0.5 * slept < waited < 2 * slept + 0.1, (waited, slept)
        assert stats["data/gpu_wait_share"] > 0
        decoded = stats["data/gpu_decoded"]
        assert 0 <= decoded <= samples == 16 * (first + rest)
        assert road == "auto" or decoded == (0 if road == "cpu" else samples), decoded
    return f"{waited:.3f} s, of {slept:.3f}; {decoded} of {samples} images decoded there"


def ahead_of_the_gpu(pack: Path, road: str) -> str:
    """A loop that never looks at its results runs ahead of the GPU, but not without end."""
    big = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    paths = [pack] * 100
    transforms = [T.RandomResizedCrop(128), *VALUES]
    with on_gpu(paths, road, 64, transforms=transforms) as there:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        steps = 0
        for images, *_ in there:
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
    """Copies of batches, beside a plain copy of page-locked memory of the same size."""
    from torch.profiler import ProfilerActivity, profile

    transforms = [T.RandomResizedCrop(224), *VALUES]
    with on_gpu([pack] * 12, "cpu", 256, transforms=transforms) as there:
        plain = torch.empty(256 * 3 * 224 * 224, dtype=torch.uint8, pin_memory=True)
        to = torch.empty_like(plain, device="cuda")
        batches = iter(there)
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
        if copied >= size:
            rates[copied > size].append(copied / event["dur"] / 1e3)  # ours has its numbers behind
    ours = rows.add("batches of the loader", "copy", rates[True], "GB/s")
    bare = rows.add("plain page-locked memory", "copy", rates[False], "GB/s")
    assert ours >= 0.95 * bare, f"{ours:.1f} GB/s where {bare:.1f} are to be had"
    return f"{ours:.1f} GB/s, {ours / bare:.1%} of a plain copy's {bare:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--mixed", type=Path, required=True, help="a pack with other codecs too")
    parser.add_argument("--hostile", type=Path, required=True, help="hostile_set.py's, of --pack")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    checks = Checks()
    per_road = [other_codecs, damaged, resumed, kept_and_dropped, left_early, two_at_once]
    per_road += [in_a_graph, without_waiting, under_load, other_fields]
    per_road += [the_device_stays, what_it_waited, ahead_of_the_gpu]
    for road in ROADS:
        checks(f"{road}, types and layouts", lambda r=road: types_and_layouts(options.pack, r))
        for check in per_road:
            mixed = check in (other_codecs, other_fields)
            path = options.mixed if mixed else options.pack
            name = check.__name__.replace("_", " ")
            checks(f"{road}, {name}", lambda c=check, p=path, r=road: c(p, r))
    for road in ("gpu", "resident"):
        for test in (undecodable, undecodable_raised):
            name = test.__name__.replace("_", " ")
            packs = (options.pack, options.hostile)
            checks(f"{road}, {name}", lambda c=test, p=packs, r=road: c(p, r))
    rows = Rows("gpu_loader", command="./dev gpu run loader")
    checks("bandwidth", lambda: bandwidth(options.pack, rows))
    rows.write(options.out)
    print(f"{checks.done} checks, {checks.failed} failed")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
