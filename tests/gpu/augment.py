"""Recipes with pixel operations: compares GPU batches with CPU batches, and measures throughput.

python -m tests.gpu.augment --pack photos.tnd [--lists 60] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
import tundish
from tundish import transforms as T

from tests.helpers.random_lists import CROPS, MIXES, Place, draw_list, draw_one, values_of

MODES = ("cpu", "gpu")
SIDE = 96
CLASSES = 1000
THREADS = (6, 8)


def labels_of(pack: Path) -> list[int]:
    """Returns arbitrary labels, which mixing requires."""
    return [number % CLASSES for number in range(len(tundish.Dataset(pack)))]


def alone(transforms: list[T.Transform]) -> list[T.Transform]:
    """Returns the transforms that a view supports."""
    return [one for one in transforms if not mixes(one) and type(one).__name__ not in CROPS]


def mixes(transform: T.Transform) -> bool:
    held = getattr(transform, "transforms", ())
    return type(transform).__name__ in MIXES or any(map(mixes, held))


def tensors_of(batch: Any) -> list[torch.Tensor]:
    images, *others = batch
    return [*images, *others] if isinstance(images, list) else [images, *others]


# Appended to every fourth list: in an arbitrary list, later resizes or flips keep these on the CPU.
LAST = (
    ("ElasticTransform",),
    ("AugMix",),
    ("ElasticTransform", "AugMix"),
    ("AugMix", "RandomInvert", "ElasticTransform", "GaussianBlur"),
    ("JPEG", "RandomApply", "ElasticTransform", "AugMix"),
)
GRAYS = [T.RandomResizedCrop([95, 69]), T.ElasticTransform(90.0, 3.0, fill=7), T.RandomInvert()]


def draw_last(number: int) -> list[T.Transform]:
    pick = random.Random(number)
    size = pick.choice([SIDE, [SIDE - 1, SIDE - 27], [2 * SIDE + 40, SIDE], 224])
    place = Place(pick, least=16)
    ends = []
    for name in LAST[number // 4 % len(LAST)]:
        if name == "RandomApply":  # steps then differ between images of a batch
            ends.append(T.RandomApply([draw_one(place, "ElasticTransform")], p=0.5))
        else:
            ends.append(draw_one(place, name))
    return [T.RandomResizedCrop(size), T.RandomHorizontalFlip(), *ends, *values_of(pick)]


def check(pack: Path, number: int) -> int:
    """Returns the number of compared images. Raises if one differs."""
    more: dict[str, Any] = {"batch_size": 25, "shuffle": True, "seed": number}
    more["labels"] = labels_of(pack)
    modes = MODES
    if number % 4 == 3:
        more["transforms"] = draw_last(number)
        if number % 20 == 3:
            more |= {"mode": "L", "transforms": GRAYS}
            modes = ("cpu",)  # the GPU decodes only to RGB
    elif number % 6 == 5:
        more["views"] = [alone(draw_list(number + k * 1000, SIDE - 20 * k)) for k in range(3)]
    else:
        more["transforms"] = draw_list(number, SIDE)
    more["memory_format"] = ("channels_last", "contiguous")[(number + number // 4) % 2]
    expected = [[t.clone() for t in tensors_of(batch)] for batch in tundish.Loader(pack, **more)]
    count = 0
    for mode in modes:
        with tundish.Loader(pack, device="cuda", decode=mode, threads=4, **more) as loader:
            for batch, other in zip(loader, expected, strict=True):
                one = tensors_of(batch)
                if not all(torch.equal(a.cpu(), b) for a, b in zip(one, other, strict=True)):
                    shown = more.get("transforms", more.get("views"))
                    raise AssertionError(f"list {number}, decode={mode}: {shown}")
                count += len(one[0])
    return count


RECIPES: dict[str, list[T.Transform]] = {
    "crop, flip": [],
    "RandAugment, RandomErasing": [T.RandAugment()],
    "RandAugment, RandomErasing, MixUp": [T.RandAugment()],
    "DeiT III": [
        T.RandomChoice([T.Grayscale(3), T.RandomSolarize(128, p=1), T.PillowGaussianBlur(p=1)]),
        T.ColorJitter(0.3, 0.3, 0.3),
    ],
    "SimCLR, two views": [
        T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
        T.RandomGrayscale(0.2),
        T.RandomApply([T.GaussianBlur(23)], p=0.5),
    ],
    "AugMix": [T.AugMix()],
    "ElasticTransform": [T.ElasticTransform()],
}


def samples_per_second(pack: Path, name: str, seconds: float, threads: int) -> float:
    """Measures a loop that discards the batches."""
    transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *RECIPES[name]]
    transforms += [T.ToDtype("bfloat16", scale=True), T.Normalize()]
    if "Erasing" in name:
        transforms.append(T.RandomErasing(value="random"))
    if "MixUp" in name:
        transforms.append(T.MixUp(num_classes=CLASSES))
    if "DeiT" in name:
        both = [T.MixUp(alpha=0.8, num_classes=CLASSES), T.CutMix(num_classes=CLASSES)]
        transforms.append(T.RandomChoice(both))
    views = {"views": [transforms] * 2} if "two views" in name else {"transforms": transforms}
    loader = tundish.Loader(
        pack,
        batch_size=512,
        device="cuda",
        decode="gpu",
        threads=threads,
        labels=labels_of(pack),
        order=tundish.Repeated(2, draws=512 * 4000),
        **views,
    )
    with loader:
        count, begin = 0, 0.0
        for number, (_, labels) in enumerate(loader):
            if number == 8:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            if number >= 8:
                count += len(labels)
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
        for threads in THREADS:
            runs = [
                samples_per_second(options.pack, name, options.seconds, threads) for _ in range(3)
            ]
            rates[f"{name}, {threads} threads"] = runs
            print(f"{name}, {threads} threads: {sorted(runs)[1]:,.0f} samples/s", flush=True)
    if options.out:
        options.out.write_text(
            json.dumps(
                {
                    "samples_per_second": rates,
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
