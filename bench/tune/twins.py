"""How much do the measured times of two identical processes differ? Recorded to test `tundish tune`.

    python -m bench.tune.twins [--rounds N] [--out FILE]     needs a GPU with its driver

For GPU-bound and for host-bound steps, four identical processes take turns as in a tuning run.
tests/tuning/test_false_alarms.py simulates tuning runs with these times.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from tundish.report.machine import machine, versions
from tundish.tuning.job import source_of
from tundish.tuning.trials.pool import TrialPool
from tundish.tuning.tricks import Trick
from tundish.tuning.tricks.cuda_graph import CudaGraph
from tundish.tuning.tricks.optimizer_kernels import FusedOptimizer

from ..common.result_files import result_text
from . import models

CASES: dict[str, tuple[str, list[Trick]]] = {
    "mlp, eager": ("mlp", []),
    "mlp, graph": ("mlp", [FusedOptimizer(), CudaGraph()]),
    "resnet18, eager": ("resnet18", []),
    "resnet18, graph": ("resnet18", [FusedOptimizer(), CudaGraph()]),
}
PROCESSES = 4


def record(model: str, tricks: list[Trick], rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source = source_of(f"{Path(models.__file__).resolve()}:{model}")
        pool = TrialPool(source, folder, seed=0, steps=12, prepare_s=120)
        pool.most_preparing = PROCESSES
        try:
            names = [f"twin {i}" for i in range(PROCESSES)]
            for name in names:
                pool.start(name, tricks)
            turns = pool.measure(names, rounds)
        finally:
            pool.close()
    return {
        "ms": [[round(t.ms, 5) for t in turns[name]] for name in names],
        "host_ms": [[round(t.host_ms, 5) for t in turns[name]] for name in names],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    cases = {}
    for name, (model, tricks) in CASES.items():
        cases[name] = found = record(model, tricks, asked.rounds)
        shown = [
            f"{median(ms):.3f} ({median(h):.3f})" for ms, h in zip(found["ms"], found["host_ms"])
        ]
        print(f"{name}: median ms (host ms) of each process: {', '.join(shown)}", flush=True)
        if asked.out:
            write(asked.out, cases)


def write(path: Path, cases: dict[str, Any]) -> None:
    import torch

    about = {"machine": machine() | {"gpu": torch.cuda.get_device_name()}, "versions": versions()}
    path.write_text(result_text({**about, "cases": cases}))


if __name__ == "__main__":
    main()
