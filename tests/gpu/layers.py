"""Layers on a GPU: `python -m tests.gpu.layers [--out FILE]`, in under two minutes.

Needs a GPU and torch.

1. ResNet-50 (torchvision's, or a similar network): the times of its layers add up to the GPU time
   of plain steps, within SUM. Its FLOPs match torch's counter. The model, torch's hooks and the
   random numbers do not change.
2. The planted models of tests/helpers/layer_plants.py with batches that fill a GPU, by real time:
   each plant is found, its clean twin is not.
3. `tundish doctor -v` on a script: the layers add up to forward and backward of the measured steps,
   within DOCTOR_SUM.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import tundish
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bench.common.result_files import result_text
from tests.helpers.layer_plants import PLANTS

SUM, DOCTOR_SUM = 0.15, 0.25
LARGER = 128  # factor for the batch of a planted model
SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    layers = [nn.Conv2d(3, 128, 3, padding=1)]
    for _ in range(6):
        layers += [nn.BatchNorm2d(128), nn.ReLU(inplace=True), nn.Conv2d(128, 128, 3, padding=1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).cuda()
    data = TensorDataset(torch.randn(4096, 3, 96, 96), torch.zeros(4096, dtype=torch.int64))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for epoch in range(100):
        for x, y in DataLoader(data, 64, pin_memory=True):
            loss = nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


class Report:
    def __init__(self) -> None:
        self.failed = 0
        self.values: dict[str, Any] = {
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
        }

    def check(self, name: str, good: bool, figure: Any = "") -> None:
        print(f"{'ok    ' if good else 'FAILED'} {name}: {figure}", flush=True)
        self.values[name] = {"ok": bool(good), "figure": figure}
        self.failed += not good


def resnet() -> nn.Module:
    try:
        from torchvision.models import resnet50

        return resnet50()
    except ImportError:
        layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, stride=4, padding=3)]
        for wide in (64, 128, 256):
            for _ in range(4):
                layers += [
                    nn.BatchNorm2d(wide),
                    nn.ReLU(inplace=True),
                    nn.Conv2d(wide, wide, 3, padding=1),
                ]
            layers += [nn.Conv2d(wide, 2 * wide, 1, stride=2)]
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def plain_s(step: Callable[[], None], count: int = 12) -> float:
    """Returns the GPU seconds of a step without hooks."""
    found = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(50_000_000)  # lets the host run ahead
        begin.record()
        step()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1e3)
    return median(found[2:])


def check_sums(report: Report, autocast: bool) -> None:
    name = "bf16" if autocast else "fp32"
    last = torch.channels_last if autocast else torch.contiguous_format
    model = resnet().cuda().to(memory_format=last)
    x = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=last)

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            out = model(x)
        out.float().sum().backward()
        for parameter in model.parameters():
            parameter.grad = None

    expected = plain_s(step)
    before = [value.clone() for value in model.state_dict().values()]
    random = torch.cuda.get_rng_state()
    hooks = len(nn.modules.module._global_forward_hooks)
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        found = tundish.layers(model, x)
    took = found.values["total_s"]
    print(str(found))
    text = f"{took * 1e3:.2f} ms of layers, {expected * 1e3:.2f} ms of plain steps ({took / expected - 1:+.1%})"
    report.check(f"sum, {name}", abs(took / expected - 1) <= SUM, text)
    rows = (
        sum(one["forward_s"] + one["backward_s"] for one in found.rows) + found.values["outside_s"]
    )
    report.check(f"rows, {name}", abs(rows / took - 1) <= SUM, f"{rows * 1e3:.2f} ms")
    same = all(one.equal(two) for one, two in zip(before, model.state_dict().values()))
    same = same and random.equal(torch.cuda.get_rng_state())
    report.check(
        f"unchanged, {name}", same and hooks == len(nn.modules.module._global_forward_hooks)
    )
    with FlopCounterMode(display=False) as counter:
        step()
    flops = sum(one["flops"] for one in found.rows)
    report.check(f"FLOPs, {name}", flops == counter.get_total_flops(), flops)
    report.values[f"layers, {name}"] = {**found.as_json(), "rows": found.rows[:20]}


def larger(batch: torch.Tensor) -> torch.Tensor:
    last = (
        torch.channels_last
        if batch.is_contiguous(memory_format=torch.channels_last)
        else torch.contiguous_format
    )
    return batch.repeat(LARGER, 1, 1, 1).to(memory_format=last).cuda()


def ids(model: nn.Module, batch: torch.Tensor, half: bool = False) -> dict[str, Any]:
    with torch.autocast("cuda", torch.bfloat16, enabled=half):
        found = tundish.layers(model.cuda(), batch)
    return {one["check"]: one["seconds"] for one in found.findings}


def check_plants(report: Report) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    for name, twins in PLANTS.items():
        found = []
        for make in twins:
            model, batch = make()
            found.append(ids(model, batch.cuda() if name == "parallel-branches" else larger(batch)))
        report.check(name, name in found[0] and name not in found[1], found)
    torch.backends.cuda.matmul.allow_tf32 = False
    wide, x = (
        nn.Sequential(nn.Linear(4096, 4096), nn.Linear(4096, 4096)),
        torch.randn(4096, 4096).cuda(),
    )
    found = [ids(wide, x), ids(wide, x, half=True)]
    report.check(
        "tensor-core-type",
        "tensor-core-type" in found[0] and "tensor-core-type" not in found[1],
        found,
    )
    words = [
        nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, count)) for count in (50257, 50264)
    ]
    x = torch.randn(4096, 1024).cuda()
    found = [ids(one, x, half=True) for one in words]
    report.check(
        "tensor-core-sizes",
        "tensor-core-sizes" in found[0] and "tensor-core-sizes" not in found[1],
        found,
    )


def check_doctor(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script, out = Path(folder) / "train.py", Path(folder) / "doctor.json"
        script.write_text(SCRIPT)
        words = [
            "doctor",
            "--verbose",
            "--steps",
            "20",
            "-o",
            str(out),
            "--",
            sys.executable,
            str(script),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "tundish", *words], capture_output=True, text=True
        )
        print(done.stderr)
        values = (
            json.loads(out.read_text())
            if out.is_file()
            else {"layers": None, "layers_missing_reason": done.stderr}
        )
    layers = values["layers"]
    if layers is None:
        report.check("doctor", False, values["layers_missing_reason"])
        return
    parts = values["figures"]["parts"]
    whole = parts["forward"] + parts["backward"]
    text = (
        f"{layers['total_s'] * 1e3:.2f} ms of layers, {whole * 1e3:.2f} ms of forward and backward"
    )
    report.check("doctor", abs(layers["total_s"] / whole - 1) <= DOCTOR_SUM, text)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report = Report()
    check_sums(report, autocast=True)
    check_sums(report, autocast=False)
    check_plants(report)
    check_doctor(report)
    if options.out:
        options.out.write_text(result_text(report.values))
    print(f"{report.failed} failed")
    return int(report.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
