"""How long does one operation on pixels take on a GPU, and how long do the operations of a recipe?

    ./dev bench gpu_augment [--images N] [--rounds N] [--out FILE]     needs a GPU with its driver

The program bench_gpu_augment (gpu_augment.cpp) first compares pixels with the reference implementation.
It then times only the kernels, on images in GPU memory. The times do not include decoding, cropping or
the conversion to the element type of the batch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tundish import transforms as T

from ..augment.operations import OPERATIONS
from ..common.rows import ROOT, Rows, middle, table

BLUR = T.RandomApply([T.GaussianBlur(23)], p=0.5)
JITTER = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
THREE = T.RandomChoice([T.Grayscale(3), T.RandomSolarize(128, p=1), T.PillowGaussianBlur(p=1)])
RECIPES: dict[str, list[T.Transform]] = {
    "recipe: RandAugment": [T.RandAugment()],
    "recipe: TrivialAugmentWide": [T.TrivialAugmentWide()],
    "recipe: 3-Augment": [THREE, T.ColorJitter(0.3, 0.3, 0.3)],
    "recipe: SimCLR, one view": [JITTER, T.RandomGrayscale(0.2), BLUR],
    "recipe: AugMix": [T.AugMix()],
}
MORE: dict[str, list[T.Transform]] = {
    "GaussianBlur 23, sigma 2": [T.GaussianBlur(23, 2.0)],
    "GaussianBlur 23, sigma 0.1 to 2": [T.GaussianBlur(23)],
    "PillowGaussianBlur 0.1 to 2": [T.PillowGaussianBlur(p=1)],
    "shear nearest": [T.RandomAffine(0, shear=(15, 15), interpolation="nearest")],
    "scale nearest": [T.RandomAffine(0, scale=(0.75, 0.75), interpolation="nearest")],
    "elastic, sigma 10": [T.ElasticTransform(50.0, 10.0)],
    "elastic nearest": [T.ElasticTransform(50.0, 5.0, "nearest")],
    "ColorJitter .8 .8 .8 .2": [T.ColorJitter(0.8, 0.8, 0.8, 0.2)],
}


def cases() -> dict[str, list[T.Transform]]:
    single = {one.name: [one.transform] for one in OPERATIONS}
    return single | MORE | RECIPES


def program() -> Path:
    for folder in (ROOT / "bin", ROOT / "build/release"):
        if (folder / "bench_gpu_augment").is_file():
            return folder / "bench_gpu_augment"
    sys.exit("bench_gpu_augment is not built; it needs nvcc")


def answers(options: argparse.Namespace) -> list[dict[str, Any]]:
    asked = [json.dumps({"transforms": [t._json() for t in case]}) for case in cases().values()]
    sizes = ["--images", str(options.images), "--rounds", str(options.rounds)]
    done = subprocess.run(
        [str(program()), *sizes], input="\n".join(asked) + "\n", capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"bench_gpu_augment ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=1056)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = Rows("gpu_augment")
    lines, wrong = [], 0
    for name, answer in zip(cases(), answers(options), strict=True):
        if "us" not in answer:
            wrong += 1
            rows.note("tundish", name, f"{answer['wrong']} images with wrong pixels")
            lines.append([name, "WRONG PIXELS", "-", "-", "-"])
            continue
        us = rows.add("tundish", name, answer["us"], "us per image", images=options.images)
        spread = f"{middle(answer['us'])[1]:.1%}"
        lines.append([name, f"{us:.3f}", f"{1e6 / us:,.0f}", f"{answer['steps']:.2f}", spread])
    print(table(["operation", "us per image", "images/s", "steps", "spread"], lines))
    print(rows.heading())
    rows.write(options.out)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
