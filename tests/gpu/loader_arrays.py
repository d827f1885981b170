"""Batches of arrays on a GPU equal those in host memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tundish

from tests.gpu.loaders import same

COUNT = 203
TYPES = ["uint8", "int16", "int64", "float16", "float32", "float64", "bool"]


@contextmanager
def _made() -> Iterator[Path]:
    """Makes a file with an array of each type (none shaped like an image), and labels."""
    rng = np.random.default_rng(1)
    arrays: dict[str, Any] = {
        f"a_{name}": (rng.random((COUNT, 2, 3, 2, 1 + 37 * n)) * 200).astype(name)
        for n, name in enumerate(TYPES)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        np.savez(path, **arrays, y=np.arange(COUNT) % 11)
        yield path


def _on_file(check: Callable[[Path], str]) -> Callable[[], str]:
    @wraps(check)
    def run() -> str:
        with _made() as path:
            return check(path)

    return run


def _loader(path: Path, **more: Any) -> tundish.Loader:
    options: dict[str, Any] = {"shuffle": True, "seed": 5, "return_index": True, "as_dict": True}
    return tundish.Loader(path, 16, **{**options, **more})


def _compare(gpu_batches: Any, cpu_batches: Any) -> int:
    count = 0
    for one, other in zip(gpu_batches, cpu_batches, strict=True):
        assert one.keys() == other.keys()
        same(one.values(), other.values())
        count += 1
    return count


@_on_file
def array_batches(path: Path) -> str:
    """Checks every type, labels and label vectors, with one thread, a budget and a cache."""
    vectors = torch.rand(COUNT, 7, generator=torch.Generator().manual_seed(1))
    count = 0
    for more in ({}, {"labels": vectors}, {"threads": 1}, {"memory": "256MiB", "cache": "auto"}):
        with _loader(path, device="cuda", **more) as gpu_loader:
            assert gpu_loader.decoding == "cpu"
            plain = _loader(path, **{k: v for k, v in more.items() if k == "labels"})
            for _ in range(2):
                count += _compare(gpu_loader, plain)
    return f"{count} batches equal"


@_on_file
def arrays_resumed(path: Path) -> str:
    batches = list(_loader(path))
    for step in (0, 3, len(batches) - 2):
        with _loader(path, device="cuda") as first:
            for number, _ in enumerate(first):
                if number == step:
                    break
            state = first.state_dict()
        with _loader(path, device="cuda") as second:
            second.load_state_dict(state)
            assert _compare(second, batches[step + 1 :]) == len(batches) - step - 1
    return f"3 places of {len(batches)}"


@_on_file
def arrays_kept(path: Path) -> str:
    """Checks that kept batches stay unchanged, even if the GPU is far behind the host."""
    with _loader(path, device="cuda") as gpu_loader:
        big = torch.randn(4096, 4096, device="cuda")
        kept = []
        for _ in range(4):
            for batch in gpu_loader:
                big = big @ big * 1e-4
                kept.append(batch)
        torch.cuda.synchronize()
    plain = _loader(path)
    return f"{_compare(kept, (batch for _ in range(4) for batch in plain))} kept"
