"""Random windows of tundish.Loader, compared with the same windows of Pillow's pixels.

tests/helpers/draws.py recomputes the window that a loader draws. Plain windows have any size from
one pixel to more than the image. The others are resized, by RandomResizedCrop in Tundish and by
Pillow in the reference.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.draws import Random, random_crop_corner, random_resized_window

LARGEST = 1200  # side of a window; limits the size of a batch
BATCH = 4
FILL = 7
SCALE, RATIO = (0.02, 1.0), (0.5, 2.0)
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@dataclass(frozen=True)
class Window:
    transform: T.Transform
    # The result for Pillow's pixels with a sample's random numbers, and the result's name.
    expected: Callable[[np.ndarray, Random], tuple[np.ndarray, str]]


def plain_window(draw: random.Random, largest: int) -> Window:
    most = math.log(min(LARGEST, largest * 1.1))
    width, height = (max(1, round(math.exp(draw.uniform(0, most)))) for _ in range(2))

    def expected(whole: np.ndarray, stream: Random) -> tuple[np.ndarray, str]:
        # Like torchvision, pads by the complete missing size on each side.
        missing = [max(0, want - have) for want, have in zip((height, width), whole.shape)]
        whole = np.pad(whole, [*((m, m) for m in missing), (0, 0)], constant_values=FILL)
        x, y = random_crop_corner(stream, whole.shape[1::-1], (width, height))
        return whole[y : y + height, x : x + width], f"{width} x {height} at ({x}, {y})"

    crop = T.RandomCrop((height, width), pad_if_needed=True, fill=FILL)
    return Window(crop, expected)


def resized_window(draw: random.Random, _: int) -> Window:
    name = draw.choice(sorted(FILTERS))
    width, height = draw.randint(1, 300), draw.randint(1, 300)

    def expected(whole: np.ndarray, stream: Random) -> tuple[np.ndarray, str]:
        x, y, w, h = random_resized_window(stream, *whole.shape[1::-1], SCALE, RATIO)
        cut = Image.fromarray(whole[y : y + h, x : x + w])
        about = f"{w} x {h} at ({x}, {y}), {name} to {width} x {height}"
        return np.asarray(cut.resize((width, height), FILTERS[name])), about

    return Window(T.RandomResizedCrop((height, width), SCALE, RATIO, name), expected)


def check_windows(
    pack: Path,
    whole: dict[int, np.ndarray | None],
    kind: Callable[[random.Random, int], Window],
    seed: int,
) -> Iterator[tuple[int, str]]:
    """Yields for one window of every readable image its number and the difference, "" if none."""
    images = {number: image for number, image in whole.items() if image is not None}
    if not images:
        return
    window = kind(random.Random(seed), max(max(i.shape[:2]) for i in images.values()))
    for number, pixels in load(pack, window.transform, seed):
        if number in images:
            stream = Random(seed, 0, number, type(window.transform).__name__)
            right, about = window.expected(images.pop(number), stream)
            yield number, "" if np.array_equal(pixels, right) else f"window {about} differs"
    for number in images:
        yield number, "a window could not be loaded"


def load(pack: Path, transform: T.Transform, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yields number and pixels (height, width, 3) of every sample that can be loaded."""
    loader = tundish.Loader(
        pack,
        BATCH,
        transforms=[transform],
        seed=seed,
        on_error="skip",
        return_index=True,
        backend="numpy",
        rank=0,
        world_size=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bad samples are counted as missing
        try:
            for images, _, numbers in loader:
                for pixels, number in zip(images, numbers, strict=True):
                    yield int(number), pixels.transpose(1, 2, 0)
        except tundish.Error:  # all samples are bad
            return
