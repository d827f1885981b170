"""Predicted and measured memory of training steps, model by model.

    python -m tests.gpu.tune_memory [--models resnet18,...] [--out FILE]     needs a GPU, torch, torchvision

Predicts on fake tensors, then runs three real steps. A row fails if prediction and measurement
differ by more than 10 % and more than 64 MiB. The last line counts the failed rows.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torchvision
from tundish.report.machine import commit, machine, versions
from tundish.tuning.job import Job
from tundish.tuning.memory.prediction import measure_peak, predict_memory
from tundish.tuning.step import Step

from bench.common.result_files import result_text

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
SHARE, LEAST = 0.10, 64 * MIB

# Model and samples per batch.
MODELS = {
    "resnet18": 256,
    "resnet50": 128,
    "mobilenet_v2": 128,
    "vit_b_16": 64,
    "convnext_tiny": 64,
}
Change = Callable[[Step], None]


def plain(step: Step) -> None:
    pass


def bf16(step: Step) -> None:
    step.autocast = torch.bfloat16


def bf16_channels_last(step: Step) -> None:
    bf16(step)
    step.model.to(memory_format=torch.channels_last)
    step.channels_last = True


SETTINGS: dict[str, Change] = {"fp32": plain, "bf16": bf16, "bf16 nhwc": bf16_channels_last}
OPTIMIZERS: dict[str, dict[str, Any]] = {"fp32": {"foreach": True}, "bf16": {"fused": True}}


def make_job(name: str, samples: int, setting: str) -> Job:
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)().cuda()
    options = OPTIMIZERS[setting.split()[0]]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)
    images = torch.randn(samples, 3, 224, 224, device="cuda")
    labels = torch.randint(1000, (samples,), device="cuda")
    return Job(model, optimizer, torch.nn.CrossEntropyLoss(), [(images, labels)])


def free_gpu() -> int:
    """Frees the last model's memory and cuBLAS's workspaces; returns the bytes still allocated."""
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    return int(torch.cuda.memory_allocated())


def one(name: str, samples: int, setting: str) -> dict[str, Any]:
    before = free_gpu()
    job = make_job(name, samples, setting)
    step = Step(job.model, job.optimizer, job.loss_fn)
    SETTINGS[setting](step)
    began = time.perf_counter()
    predicted = predict_memory(step, job.batches[0])
    seconds = time.perf_counter() - began
    measured = measure_peak(step, job.batches[0]) - before
    off = abs(predicted.peak - measured)
    return {
        "model": name,
        "samples": samples,
        "setting": setting,
        "predicted": predicted.peak,
        "measured": measured,
        "ratio": round(predicted.peak / measured, 4),
        "ok": off <= max(SHARE * measured, LEAST),
        "seconds": round(seconds, 2),
        "prediction": asdict(predicted),
    }


def show(row: dict[str, Any]) -> None:
    if "failed" in row:
        print(f"{row['model']:<14} {row['setting']:<10} {row['failed']}", flush=True)
        return
    print(
        f"{row['model']:<14} {row['setting']:<10} {row['samples']:>4}"
        f" {row['predicted'] / MIB:>10,.0f} {row['measured'] / MIB:>10,.0f} {row['ratio']:>7.3f}"
        f"  {row['prediction']['phase']:<9} {row['seconds']:>6.1f} s"
        f"  {'ok' if row['ok'] else 'OFF'}  {row['prediction']['reason'] or ''}",
        flush=True,
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args(words)
    rows = []
    print(f"{'model':<14} {'setting':<10} {'n':>4} {'predicted':>10} {'measured':>10}   ratio  MiB")
    for name in options.models.split(","):
        for setting in SETTINGS:
            try:
                row = one(name, MODELS.get(name, 64), setting)
            except Exception as error:
                text = (str(error).splitlines() or [""])[0]
                row = {"model": name, "setting": setting, "ok": False}
                row["failed"] = f"{type(error).__name__}: {text}"
            rows.append(row)
            show(row)
    if options.out:
        about = {
            "machine": machine(),
            "versions": versions("torch", "torchvision"),
            "commit": commit(ROOT),
            "command": "python -m tests.gpu.tune_memory",
        }
        options.out.write_text(result_text({**about, "rows": rows}))
    failed = sum(not row["ok"] for row in rows)
    print(f"{len(rows)} rows, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
