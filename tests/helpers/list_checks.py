"""Checks that must pass, bit for bit, for any list of transforms.

tests/loader/test_random_lists.py and `./dev siege augment` run these checks.
"""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tundish
from PIL import Image
from tundish import transforms as T
from tundish.transforms.transform import transforms_json

from tests.helpers.files import write
from tests.helpers.program import PROGRAM
from tests.helpers.random_lists import draw_list

BATCH = 4  # global batch size over all ranks


class Difference(AssertionError):
    """Raised if two ways to compute a batch give different bytes. Names the list and its number."""


# --- the images ---------------------------------------------------------------------------------


def picture(number: int, width: int, height: int) -> Image.Image:
    """Returns a smooth picture with noise and a flat corner."""
    rng = np.random.default_rng(number)
    x = np.linspace(0, 200, width)[None, :, None] + np.linspace(0, 50, height)[:, None, None]
    pixels = x * rng.uniform(0.3, 1, 3) + rng.normal(0, 8, (height, width, 3))
    pixels[: height // 4, : width // 4] = 255
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def make_set(folder: Path) -> Path:
    """Creates a pack of eleven images: normal, gray, CMYK, PNG, with EXIF rotation, of odd sizes."""
    turned = Image.Exif()
    turned[0x0112] = 6
    jpegs: list[tuple[tuple[int, int], str, dict[str, Any]]] = [
        ((64, 48), "RGB", {"quality": 90, "subsampling": 0}),
        ((47, 61), "RGB", {"quality": 75, "subsampling": 2}),
        ((33, 50), "RGB", {"quality": 60, "subsampling": 1, "progressive": True}),
        ((40, 40), "L", {"quality": 80}),
        ((35, 52), "CMYK", {"quality": 80}),
        ((52, 34), "RGB", {"quality": 85, "exif": turned}),
        ((5, 3), "RGB", {"quality": 85, "subsampling": 2}),
    ]
    for number, (size, mode, options) in enumerate(jpegs):
        path = folder / "a" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(number, *size).convert(mode).save(path, **options)
    for number, (size, mode) in enumerate(
        [((1, 1), "RGB"), ((49, 33), "P"), ((60, 3), "LA"), ((31, 64), "RGB")]
    ):
        path = folder / "b" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(20 + number, *size).convert(mode).save(path)
    write(folder / "READ.txt", b"not an image")
    pack = folder.with_suffix(".tnd")
    line = [PROGRAM, "pack", folder, "-o", pack, "--quiet"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 3), done.stderr
    return pack


# --- the checks ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A list of transforms, and loader options that were drawn at random."""

    pack: Path
    number: int
    transforms: list[T.Transform]
    options: dict[str, Any]
    epoch: int

    def loader(self, **more: Any) -> tundish.Loader:
        given = {"batch_size": BATCH, "threads": 1, "uneven": "exact", "prefetch": 2}
        given |= {"return_index": True, "seed": self.number, "transforms": self.transforms}
        loader = tundish.Loader(self.pack, **(given | self.options | more))
        loader.set_epoch(self.epoch)
        return loader

    def text(self) -> str:
        shown = json.dumps(transforms_json(self.transforms))
        return f"list {self.number}, epoch {self.epoch}, {self.options}:\n{shown}"


def draw_case(pack: Path, number: int) -> Case:
    pick = random.Random(-1 - number)
    options = {
        "shuffle": pick.random() < 0.5,
        "memory_format": pick.choice(["channels_last", "contiguous"]),
        "exif_orientation": pick.random() < 0.5,
    }
    return Case(pack, number, draw_list(number), options, pick.choice([0, 1, 7]))


Bytes = list[bytes]  # images, labels and numbers


def bytes_of(batch: Any) -> Bytes:
    """Returns the bytes of every element in index order. As bytes, a NaN equals itself."""
    return [
        str((one.dtype, tuple(one.shape))).encode()
        + one.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        for one in batch
    ]


def run(loader: tundish.Loader) -> list[Bytes]:
    with loader:
        return [bytes_of(batch) for batch in loader]


def together(steps: list[tuple[Any, ...]]) -> list[Bytes]:
    """Concatenates the batches of all ranks in each step."""
    return [bytes_of([torch.cat(parts) for parts in zip(*step)]) for step in steps]


def check_threads(case: Case, expected: list[Bytes]) -> None:
    if run(case.loader(threads=3)) != expected:
        raise Difference(f"three threads: {case.text()}")


def check_ranks(case: Case, expected: list[Bytes]) -> None:
    ranks = [case.loader(batch_size=BATCH // 2, rank=r, world_size=2) for r in range(2)]
    steps = list(zip(*ranks, strict=True))
    got = together(steps)
    for loader in ranks:
        loader.close()
    if got != expected:
        raise Difference(f"two ranks: {case.text()}")


def check_resume(case: Case, expected: list[Bytes]) -> None:
    stop = case.number % len(expected)
    with case.loader(threads=2) as first:
        batches = iter(first)
        got = [bytes_of(next(batches)) for _ in range(stop)]
        state = json.dumps(first.state_dict())
    with case.loader() as second:
        second.load_state_dict(json.loads(state))
        got += [bytes_of(batch) for batch in second]
    if got != expected:
        raise Difference(f"resumed after {stop} batches: {case.text()}")


def as_float32(transforms: list[T.Transform]) -> list[T.Transform]:
    """Replaces bfloat16, which NumPy lacks, by float32. This gives the values before rounding."""
    return [
        replace(one, dtype="float32") if getattr(one, "dtype", "") == "bfloat16" else one
        for one in transforms
    ]


def applied(
    case: Case, plan: dict[str, Any], pixels: np.ndarray, dtype: torch.dtype, crop: int
) -> Any:
    """Applies a plan with T.apply. Returns the image in the loader's layout (3, height, width)."""
    key = {"seed": case.number, "epoch": case.epoch, "sample": plan["sample"]}
    transforms = as_float32(case.transforms) if dtype == torch.bfloat16 else case.transforms
    out = T.apply(transforms, pixels, **key, crop=crop)
    return torch.from_numpy(out).to(dtype).permute(2, 0, 1)


def check_replay(case: Case, expected: list[Bytes]) -> None:
    """Checks a replayed batch, the plans of its samples, and each image as computed by T.apply."""
    at = (case.number + 1) % len(expected)
    with case.loader() as loader:
        state = loader.state_dict() | {"position": at * BATCH}
        replayed = loader.replay(state)
        dataset = loader.dataset
        if bytes_of(replayed.batch) != expected[at]:
            raise Difference(f"replay of batch {at}: {case.text()}")
        images = replayed.batch[0]
        for image, plan in zip(images, replayed.plans, strict=True):
            pixels = np.asarray(dataset[plan["sample"]][0])
            key = {"seed": case.number, "epoch": case.epoch, "sample": plan["sample"]}
            for crop, one in enumerate(plan.get("views", [plan])):
                planned = T.plan(case.transforms, pixels.shape[:2], **key, crop=crop)
                if planned["steps"] != one["steps"]:
                    raise Difference(f"plan of sample {plan['sample']}: {case.text()}")
                if "mix" in plan:  # mixed images are checked by tests/loader/test_mixing.py
                    continue
                other = applied(case, plan, pixels, images.dtype, crop)
                if bytes_of([image[crop] if "views" in plan else image]) != bytes_of([other]):
                    raise Difference(f"T.apply of sample {plan['sample']}: {case.text()}")


CHECKS = (check_threads, check_ranks, check_resume, check_replay)


def check_list(pack: Path, number: int) -> int:
    """Checks list `number`. Returns the number of batches in an epoch. Raises Difference on failure."""
    case = draw_case(pack, number)
    try:
        expected = run(case.loader())
        for check in CHECKS:
            check(case, expected)
    except (tundish.Error, RuntimeError, ValueError) as error:
        raise Difference(f"{type(error).__name__}: {error}\n{case.text()}") from error
    return len(expected)
