"""The doctor's recordings on a GPU: `python -m tests.gpu.doctor_records --pack FILE`.

Needs a GPU, torch and torchvision. The timeline has kernels, copies and the loader's threads in one
window on one clock. No kernel and no copy precedes the part of the loop that launched it, and all
lie within the recorded steps. The peak memory that lines explain matches
torch.cuda.max_memory_allocated within 1 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torchvision
import tundish
from tundish import transforms as T

SIDE, BATCH = 96, 32
SLACK_US = 2_000.0  # the clocks differ by microseconds; allows for a shared machine
AFTER_US = 500_000.0  # the GPU may finish the last step after the host
SHARE = 0.01


class Checks:
    def __init__(self) -> None:
        self.failed = 0

    def check(self, what: str, good: bool, seen: object = "") -> None:
        print(f"{'ok    ' if good else 'FAILED'}  {what}  {seen}")
        self.failed += not good


def train(loader: Any, model: Any, optimizer: Any, go_on: Any) -> None:
    while go_on():
        for images, labels in loader:
            images = images.to("cuda", non_blocking=True)
            labels = labels.clamp(min=0).to("cuda", non_blocking=True)  # -1: photos without classes
            loss = torch.nn.functional.cross_entropy(model(images), labels)  # the forward pass
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not go_on():
                return


def check_timeline(checks: Checks, path: Path, seen: dict[str, Any]) -> None:
    for source in ("loop", "loader", "torch", "kernels", "copies"):
        checks.check(f"the timeline has events of: {source}", seen["sources"][source] > 0)
    checks.check("no event was left out", seen["dropped"] == 0 and not seen["notes"], seen)
    events = json.loads(path.read_text())["traceEvents"]
    spans = [one for one in events if one["ph"] == "X"]
    steps = sorted(one["ts"] for one in spans if one["name"].startswith("step "))
    end = max(one["ts"] + one["dur"] for one in spans if one["name"].startswith("step "))
    for kind in ("kernel", "gpu_memcpy", "tundish.loader"):
        found = [one for one in spans if one["cat"] == kind]
        late = [one for one in found if not one["ts"] < end + AFTER_US]
        early = [one for one in found if not one["ts"] + one["dur"] > steps[0] - SLACK_US]
        checks.check(f"all {len(found)} of {kind} are in the window", not late and not early)
    copies = sorted(one["ts"] for one in spans if "HtoD" in one["name"])
    parts = sorted(
        one["ts"] for one in spans if one["cat"] == "tundish.loop" and one["name"] == "copy"
    )
    checks.check("as many copies as the loop made", len(copies) >= len(parts) > 0)
    if len(copies) == len(parts):
        pairs = list(zip(parts, copies))
    else:  # other code copies too: only the first pair is certain
        pairs = [(parts[0], copies[0])] if parts and copies else []
    least = min((copy - part for part, copy in pairs), default=-1e9)
    checks.check("no copy before the loop asked for it", least > -SLACK_US, f"{least:.1f} us")
    most = max((copy - part for part, copy in pairs), default=1e9)
    checks.check("every copy soon after it", most < AFTER_US, f"{most:.1f} us")


def check_memory(checks: Checks, found: dict[str, Any] | None, model: Any) -> None:
    checks.check("the memory of a step was recorded", found is not None)
    if found is None:
        return
    peak, torchs = found["peak_bytes"], found["torch_peak_bytes"]
    difference = abs(peak - torchs) / max(1, torchs)
    checks.check("the peak is torch's", difference <= SHARE, f"{peak:,} {torchs:,} bytes")
    rows = sum(one["bytes"] for one in found["rows"]) + found["rest_bytes"]
    checks.check("the rows are the peak", rows == peak)
    # Blocks are rounded up to 512 bytes, and a segment's last block may be longer.
    parameters = sum(-(-p.numel() * p.element_size() // 512) * 512 for p in model.parameters())
    kinds = found["kinds"]
    rounding = kinds.get("rounding", 0) / peak
    checks.check("lines explain nearly all of it", rounding < 0.05, f"all but {rounding:.2%}")
    near = abs(kinds["parameters"] - parameters) <= SHARE * parameters
    checks.check("the parameters have their bytes", near, f"{kinds['parameters']:,}")
    checks.check("there are activations and gradients", kinds.keys() >= {"activations"}, kinds)
    text = Path(__file__).read_text().splitlines()
    line = next(n for n, code in enumerate(text, 1) if code.endswith("# the forward pass"))
    mine = [one for one in found["rows"] if one["kind"] == "activations"]
    held = sum(one["bytes"] for one in mine if (one["file"], one["line"]) == (__file__, line))
    whole = sum(one["bytes"] for one in mine)
    checks.check("activations have the line of the forward pass", held > 0.9 * whole > 0)
    predicted = found["predicted"] or {"peak_bytes": 0}
    ratio = predicted["peak_bytes"] / max(1, peak)
    text_ = f"{ratio:.3f} of the peak {found['predicted_missing_reason']}"
    checks.check("the prediction is beside it", 0.8 < ratio < 1.2, text_)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", type=Path, required=True)
    options = parser.parse_args()
    checks = Checks()
    model = torchvision.models.resnet18(num_classes=1000).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    crop = [T.RandomResizedCrop(SIDE), T.Normalize()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        words: dict[str, Any] = {
            "timeline": path,
            "table": "simple",
            "memory_lines": True,
            "layers": False,
        }
        with tundish.doctor(steps=10, **words) as doctor:
            loader = tundish.Loader(options.pack, BATCH, transforms=crop, shuffle=True, seed=0)
            train(loader, model, optimizer, lambda: not doctor.is_done)
        print(doctor.verdict)
        seen = doctor.verdict.timeline
        checks.check("a timeline was written", bool(seen))
        if seen:
            check_timeline(checks, path, seen)
    values = doctor.verdict.as_json()
    check_memory(checks, values["memory"], model)
    rows = {one["part"]: one for one in values["tables"]["simple"]}
    on_gpu = all(one["gpu_total_s"] is not None for one in rows.values())
    checks.check("the table has the GPU's time", on_gpu and rows["backward"]["gpu_total_s"] > 0)
    print(f"{checks.failed} failed")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
