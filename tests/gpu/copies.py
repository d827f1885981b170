"""GPU checks of page-locked batches and their copies.

    ./dev gpu run copies     on a machine with a GPU, driver, Python and torch

Makes its own images and compares every batch with a loader without page-locked memory, even if
batches are dropped before their copies run. Then times the copy to the GPU from both kinds of
memory. Prints a table; the last line counts checks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import tundish
from tundish import transforms as T

from bench.common.rows import Rows, middle, table

BATCH, SIDE, ROUNDS = 256, 224, 20


def make_images(folder: Path, count: int) -> None:
    """Writes arrays as files: the GPU machine needs no image library."""
    random = np.random.default_rng(0)
    for i in range(count):
        path = folder / f"class{i % 2}" / f"{i:04}.npy"
        path.parent.mkdir(exist_ok=True)
        np.save(path, random.integers(0, 256, (300, 280, 3), np.uint8))


def loader(folder: Path, pinned: bool, batch_size: int = BATCH) -> tundish.Loader:
    return tundish.Loader(
        folder,
        batch_size,
        shuffle=True,
        seed=7,
        pin_memory=pinned,
        transforms=[T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip()],
    )


def check_equal(folder: Path) -> int:
    """Checks that every pinned batch, copied asynchronously, equals the plain batch."""
    checked = 0
    with loader(folder, True) as pinned, loader(folder, False) as plain:
        for _ in range(2):
            for (images, labels), (expected, expected_labels) in zip(pinned, plain, strict=True):
                assert images.is_pinned(), "the batch is not page-locked"
                assert images.untyped_storage().is_pinned(), "the memory is not torch's own"
                on_gpu = images.to("cuda", non_blocking=True)
                torch.cuda.synchronize()
                assert torch.equal(on_gpu.cpu(), expected)
                assert torch.equal(labels, expected_labels)
                checked += len(labels)
        slots = pinned.stats()["data/slots"]
        assert slots <= 8, f"{slots} slots were pinned; a slot is to be used again"
    return checked


def check_dropped(folder: Path, stream: torch.cuda.Stream) -> int:
    """Checks that a batch dropped before its copy started is not overwritten."""
    with torch.cuda.stream(stream), loader(folder, True, 16) as pinned:
        copies = []
        for images, _ in pinned:
            torch.cuda._sleep(20_000_000)  # cycles, about 10 ms: the copies fall far behind
            copies.append(images.to("cuda", non_blocking=True))
            del images
        torch.cuda.synchronize()
    with loader(folder, False, 16) as plain:
        for copy, (expected, _) in zip(copies, plain, strict=True):
            assert torch.equal(copy.cpu(), expected), "a batch was overwritten during its copy"
    return sum(len(copy) for copy in copies)


def copy_speed(folder: Path, pinned: bool) -> list[float]:
    """Measures the copy of one batch to the GPU several times, in GB/s."""
    with loader(folder, pinned) as one:
        images, _ = next(iter(one))
        rates = []
        for _ in range(ROUNDS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            images.to("cuda", non_blocking=True)
            end.record()
            torch.cuda.synchronize()
            rates.append(images.numel() / begin.elapsed_time(end) / 1e6)
        return rates[3:]


def main() -> int:
    torch.cuda.init()  # until then, torch reports no memory as page-locked
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_images(folder, 2 * BATCH)
        checked = check_equal(folder)
        checked += check_dropped(folder, torch.cuda.default_stream())
        checked += check_dropped(folder, torch.cuda.Stream())
        rows = Rows("gpu_copy", command="./dev gpu run copies")
        lines = []
        for contestant, pinned in (("page-locked", True), ("pageable", False)):
            rates = copy_speed(folder, pinned)
            value = rows.add(contestant, "copy to the GPU", rates, "GB/s")
            lines.append([contestant, f"{value:.1f}", f"{middle(rates)[1]:.0%}", str(len(rates))])
    print(table(["memory", "GB/s", "spread", "runs"], lines))
    print(rows.heading())
    rows.write(options.out)
    print(f"{checked} images equal with and without page-locked memory")
    print("3 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
