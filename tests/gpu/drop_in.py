"""GPU checks of tundish.accelerate(device="cuda") on a dataset that keeps its own code.

    ./dev gpu run drop_in     on a machine with a GPU, driver, Python and torch

Compares every batch with torch's, also when the loop falls far behind and drops its batches. Then
times a loop with a pageable copy and the same loop accelerated, in turn. Prints a table; the last
line counts checks.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch
import tundish
from torch.utils.data import DataLoader, Dataset

from bench.common.rounds import interval
from bench.common.rows import Rows, table

COUNT, BATCH, ROUNDS = 6144, 256, 9


class Noise(Dataset[Any]):
    """Batches of 154 MB that are quick to make, so that copies dominate."""

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return {"image": torch.full((3, 224, 224), float(index)), "name": str(index)}, index


def make(workers: int) -> DataLoader[Any]:
    return DataLoader(Noise(), BATCH, num_workers=workers, persistent_workers=workers > 0)


def check_equal(workers: int, stream: torch.cuda.Stream) -> int:
    """Computes sums late, which exposes memory that was reused too early."""
    loader = tundish.accelerate(make(workers), device="cuda")
    sums, checked = [], 0
    with torch.cuda.stream(stream):
        for batch, labels in loader:
            assert batch["image"].is_cuda
            assert labels.is_cuda
            torch.cuda._sleep(20_000_000)  # cycles, about 10 ms: the loop falls far behind
            sums.append((batch["image"].double().mean((1, 2, 3)), labels, batch["name"]))
            del batch, labels
        torch.cuda.synchronize()
    for number, (means, labels, names) in enumerate(sums):
        expected = torch.arange(number * BATCH, number * BATCH + len(labels))
        assert torch.equal(labels.cpu(), expected)
        assert torch.equal(means.cpu(), expected.double()), "a batch was overwritten"
        assert names == [str(one) for one in expected.tolist()]
        checked += len(names)
    assert checked == COUNT
    return checked


def epoch_s(loader: Any) -> float:
    weight = torch.ones(1024, 1024, device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for batch, labels in loader:
        images, labels = batch["image"].to("cuda"), labels.to("cuda")
        for _ in range(20):
            weight = weight @ weight * 1e-3
        images.mean()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    checked = sum(
        check_equal(workers, stream)
        for workers in (0, 4)
        for stream in (torch.cuda.default_stream(), torch.cuda.Stream())
    )
    plain, ours = make(8), tundish.accelerate(make(8), device="cuda")
    times = [(epoch_s(plain), epoch_s(ours)) for _ in range(ROUNDS + 1)][1:]  # workers start once
    rows = Rows("gpu_drop_in", command="./dev gpu run drop_in")
    lines = []
    for name, values in zip(("torch, pageable copies", "accelerate"), zip(*times, strict=True)):
        rate = rows.add(name, "samples_per_s", [COUNT / value for value in values], "samples/s")
        lines.append([name, f"{rate:,.0f}"])
    ratios = [before / after for before, after in times]
    rows.add("accelerate / torch", "ratio", ratios, "x", bar=1.1)
    found = interval(ratios)
    print(table(["contestant", "samples/s"], lines))
    print(f"{found.median:.2f}x ({found.low:.2f} to {found.high:.2f})")
    print(rows.heading())
    rows.write(options.out)
    print(f"{checked} samples equal\n4 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
