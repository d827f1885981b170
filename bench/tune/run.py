"""How much faster does `tundish tune` make a training step, and how much faster than a human recipe?

    ./dev bench tune [--models NAME...] [--quick] [--out FILE]     needs a GPU with its driver

Each model is tuned. Then the plan and four references take turns in a fresh run: the baseline, strict
fp32, torch's default flags, and the human recipe (bf16 autocast, channels_last, torch.compile and the
fused optimizer). The rows describe this run. Cases in which a reference is faster are listed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

from tundish.tuning.tune import tune

from ..common.result_files import result_text
from . import models

FILE = os.path.relpath(models.__file__)  # relative: results must not name a local folder


def tuned(name: str, quick: bool, minutes: float | None, folder: Path | None) -> dict[str, Any]:
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"  {time.monotonic() - began:6.1f} s  {text}", flush=True)

    print(name, flush=True)
    plan = tune(f"{FILE}:{name}", quick=quick, minutes=minutes, progress=say)
    if folder is not None:
        plan.save(folder / f"tune_{name}.json")
    report = plan.report.as_json()
    for row in report["rows"]:
        print(
            f"    {row['phase']:<22} {row['label']:<75} {row['step_ms'] or 0:8.3f} ms "
            f"{row['gain'] or 0:6.3f}x ({row['low'] or 0:.3f}-{row['high'] or 0:.3f}) "
            f"{'host-bound ' if row['host_bound'] else ''}{row['verdict']}; "
            f"{(row['peak_bytes'] or 0) / 2**30:.1f} GB, once {row['one_off_s'] or 0:.0f} s; {row['numerics']}",
            flush=True,
        )
    gains = {key: f"{one['gain']:.2f}x" for key, one in report["gains"].items()}
    print(f"  {name}: {gains}, {report['seconds']:.0f} s; {report['notes']}", flush=True)
    return {**report, "model": name, "tricks": [t.name for t in plan.tricks], "quick": quick}


def summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    human = {
        r["model"]: r["gains"]["human recipe"]["gain"] for r in rows if "human recipe" in r["gains"]
    }
    image = [value for name, value in human.items() if name != "mlp"]
    mean = math.exp(sum(map(math.log, image)) / len(image)) if image else None
    slower = [r["model"] for r in rows if r["gains"].get("baseline", {}).get("gain", 1.0) < 1.0]
    return {
        "against the human recipe": human,
        "geometric mean without the mlp": mean,
        "slower than the baseline": slower,
        "below 0.99 of the human recipe": [n for n, v in human.items() if v < 0.99],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=[*models.SEEN, *models.UNSEEN])
    parser.add_argument("--quick", action="store_true", help="two minutes a model instead of six")
    parser.add_argument("--minutes", type=float, help="of a model, instead")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--plans", type=Path, help="folder for each model's plan")
    asked = parser.parse_args()
    rows = []
    for name in asked.models:
        rows.append(tuned(name, asked.quick, asked.minutes, asked.plans))
        if asked.out:  # after each model, in case the run is interrupted
            values = {"rows": rows, "summary": summed(rows)}
            asked.out.write_text(result_text(values))
    print(json.dumps(summed(rows), indent=1))


if __name__ == "__main__":
    main()
