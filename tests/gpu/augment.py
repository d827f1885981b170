"""Recipes with operations on pixels: batches on a GPU equal the CPU's, and how many come per second.

python -m tests.gpu.augment --pack photos.tnd [--lists 60] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

import torch
import tundish
from tundish import transforms as T

MODES = ("cpu", "gpu")
SIDE = 96


def operation(pick: random.Random) -> T.Transform:
    """Any that a recipe may have before Normalize."""
    return pick.choice(
        [
            T.ColorJitter(0.4, 0.4, 0.4, 0.1),
            T.RandomGrayscale(0.3),
            T.RandomInvert(),
            T.RandomPosterize(pick.randint(1, 7)),
            T.RandomSolarize(pick.randint(0, 255)),
            T.RandomAdjustSharpness(pick.uniform(0, 3)),
            T.RandomAutocontrast(),
            T.RandomEqualize(),
            T.RandomPhotometricDistort(),
            T.RandomChannelPermutation(),
            T.GaussianBlur(pick.choice([3, 9, 23])),
            T.PillowGaussianBlur(),
            T.GaussianNoise(),
            T.RandomErasing(value="random"),
            T.RandomRotation(30, interpolation=pick.choice(["nearest", "bilinear", "bicubic"])),
            T.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10, interpolation="bilinear", fill=99),
            T.RandomPerspective(),
            T.ElasticTransform(sigma=pick.choice([3, 5])),
            T.AugMix(fill=pick.choice([None, 99])),
            T.RandAugment(interpolation=pick.choice(["nearest", "bilinear"])),
            T.TrivialAugmentWide(),
            T.AutoAugment(),
            T.RandomApply([T.JPEG((30, 90))], p=0.2),
        ]
    )


def recipe(number: int) -> list[T.Transform]:
    pick = random.Random(number)
    out: list[T.Transform] = [T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip()]
    out += [operation(pick) for _ in range(pick.randint(1, 3))]
    if pick.random() < 0.3:
        out += [T.RandomCrop(SIDE - 8), operation(pick)]
    if pick.random() < 0.8:
        out += [
            T.ToDtype(pick.choice(["float32", "float16", "bfloat16"]), scale=True),
            T.Normalize(),
        ]
        out += [T.RandomErasing(value=pick.choice([0, "random"]))] * pick.randint(0, 2)
    return out


def check(pack: Path, number: int) -> int:
    """Images compared. Raises when one differs."""
    more = {"batch_size": 25, "shuffle": True, "seed": number, "transforms": recipe(number)}
    more["memory_format"] = ("channels_last", "contiguous")[number % 2]
    expected = [tuple(t.clone() for t in batch) for batch in tundish.Loader(pack, **more)]
    count = 0
    for mode in MODES:
        with tundish.Loader(pack, device="cuda", decode=mode, threads=4, **more) as loader:
            for one, other in zip(loader, expected, strict=True):
                if not all(torch.equal(a.cpu(), b) for a, b in zip(one, other, strict=True)):
                    raise AssertionError(f"list {number}, decode={mode}: {more['transforms']}")
                count += len(one[1])
    return count


RECIPES: dict[str, list[T.Transform]] = {
    "crop, flip": [],
    "RandAugment, RandomErasing": [T.RandAugment()],
    "3-Augment": [
        T.RandomChoice([T.Grayscale(3), T.RandomSolarize(128, p=1), T.PillowGaussianBlur(p=1)]),
        T.ColorJitter(0.3, 0.3, 0.3),
    ],
    "SimCLR, one view": [
        T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
        T.RandomGrayscale(0.2),
        T.RandomApply([T.GaussianBlur(23)], p=0.5),
    ],
}


def images_per_second(pack: Path, name: str, seconds: float) -> float:
    """A loop that does nothing with the batches."""
    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *RECIPES[name]]
    transforms += [T.ToDtype("bfloat16", scale=True), T.Normalize()]
    if "Erasing" in name:
        transforms.append(T.RandomErasing(value="random"))
    draws = tundish.Repeated(2, draws=512 * 4000)
    loader = tundish.Loader(
        pack,
        batch_size=512,
        device="cuda",
        decode="gpu",
        threads=8,
        transforms=transforms,
        order=draws,
    )
    with loader:
        count, begin = 0, 0.0
        for number, (images, _) in enumerate(loader):
            if number == 8:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            if number >= 8:
                count += len(images)
                if time.perf_counter() - begin > seconds:
                    break
        torch.cuda.synchronize()
        return count / (time.perf_counter() - begin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    count = failed = 0
    for number in range(options.lists):
        try:
            count += check(options.pack, number)
        except AssertionError as wrong:
            failed += 1
            print(f"WRONG {wrong}", flush=True)
    print(f"{options.lists} lists, {count} images compared, {failed} lists wrong", flush=True)
    rates = {}
    for name in RECIPES:
        rates[name] = [images_per_second(options.pack, name, options.seconds) for _ in range(2)]
        print(f"{name}: {max(rates[name]):,.0f} images/s", flush=True)
    if options.out:
        options.out.write_text(
            json.dumps(
                {
                    "images_per_second": rates,
                    "lists": options.lists,
                    "images": count,
                    "wrong": failed,
                },
                indent=1,
            )
        )
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
