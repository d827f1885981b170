"""Random folders of images, read by torchvision's ImageFolder."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from torchvision.datasets import ImageFolder

from tests.siege.originals.case import Case
from tests.siege.originals.values import png

NAMES = (
    "1.png",
    "10.png",
    "2.PNG",
    "a b.png",
    "ä.png",
    "deep/1.png",
    "deep/z/0.png",
    "Z.jpeg",
    "x.jpg",
)


def make(draw: random.Random, folder: Path) -> Case:
    root = folder / "photos"
    for name in draw.sample(("dog", "Cat", "ä", "10", "9", "a b"), draw.randint(1, 4)):
        for file in draw.sample(NAMES, draw.randint(1, 4)):
            path = root / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(draw)[0])
    read = ImageFolder(str(root))
    images = [np.asarray(image).transpose(2, 0, 1) for image, _ in read]
    fields = {"image": images, "label": [np.int64(label) for _, label in read.samples]}
    keys = [str(Path(path).relative_to(root)) for path, _ in read.samples]
    return Case(root, fields, keys=keys, classes=read.classes, about=str(keys))
