"""Draws the pictures of docs/reference.md: .venv/bin/python tools/make_pictures.py

Writes one file per transform to docs/pictures/. A picture shows docs/pictures/photo.png, which was
drawn for this project, followed by results of T.apply. A transform that is not in EXAMPLES is shown
with its defaults, and with p=1 if it has an argument p. tests/docs/test_pictures.py compares the files
with the output of this tool.
"""

from __future__ import annotations

import io
import tempfile
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import tundish
from PIL import Image
from tundish import transforms as T

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
PHOTO = "photo.png"
DRAWS = 3  # number of results: epochs 0, 1 and 2 of a loader with seed 0
GAP = 6  # pixels between pictures

# Transforms without a picture, because they only change the scale or type of numbers.
WITHOUT_PICTURE = {"Normalize", "ToDtype"}

# Arguments for transforms whose defaults show little or that have a required argument.
EXAMPLES = {
    "RandomResizedCrop": "T.RandomResizedCrop(108)",
    "Resize": "T.Resize(54)",
    "CenterCrop": "T.CenterCrop(80)",
    "Pad": 'T.Pad(16, padding_mode="reflect")',
    "FiveCrop": "T.FiveCrop(60)",
    "TenCrop": "T.TenCrop(60)",
    "RandomCrop": "T.RandomCrop(80)",
    "RandomRotation": "T.RandomRotation(45)",
    "RandomAffine": "T.RandomAffine(30, translate=(0.2, 0.2), scale=(0.7, 1.2), shear=20)",
    "ColorJitter": "T.ColorJitter(0.5, 0.5, 0.5, 0.2)",
    "Grayscale": "T.Grayscale(3)",
    "RandomPhotometricDistort": "T.RandomPhotometricDistort()",
    "RandomAdjustSharpness": "T.RandomAdjustSharpness(8, p=1)",
    "RandomPosterize": "T.RandomPosterize(2, p=1)",
    "RandomSolarize": "T.RandomSolarize(128, p=1)",
    "GaussianBlur": "T.GaussianBlur(9, sigma=(0.5, 3.0))",
    "PillowGaussianBlur": "T.PillowGaussianBlur((0.5, 3.0), p=1)",
    "RandomApply": "T.RandomApply([T.RandomInvert(p=1), T.RandomRotation(45)], p=0.5)",
    "RandomChoice": "T.RandomChoice([T.Grayscale(3), T.RandomInvert(p=1), T.RandomRotation(45)])",
    "RandomOrder": "T.RandomOrder([T.RandomPosterize(2, p=1), T.GaussianBlur(9, sigma=2.0), T.RandomRotation(45)])",
    "RandomErasing": 'T.RandomErasing(p=1, value="random")',
    "JPEG": "T.JPEG((3, 30))",
    "TimmRandomErasing": 'T.TimmRandomErasing(probability=1, mode="pixel", max_count=3)',
    "ResizeKeepRatio": "T.ResizeKeepRatio(80, random_aspect_prob=1.0, random_aspect_range=(0.6, 1.6))",
    "PadTo": "T.PadTo((128, 180), fill=128)",
    "ScaleJitter": "T.ScaleJitter((160, 120), scale_range=(0.3, 1.0))",
    "RandomShortestSize": "T.RandomShortestSize((40, 60, 80, 100))",
    "RandomResize": "T.RandomResize(40, 108)",
    "CenterCropOrPad": "T.CenterCropOrPad(128)",
    "RandomCropOrPad": "T.RandomCropOrPad(128)",
    "TrimBorder": "T.TrimBorder(12)",
}

# Transforms that must follow ToDtype. timm's RandomErasing erases elements of the float tensor.
AFTER_TO_DTYPE = {"TimmRandomErasing"}

# Transforms that return several crops. The picture shows the first ones instead of several epochs.
CROPS = {"FiveCrop", "TenCrop"}

# Transforms that work on batches. They mix the photo with an upside-down copy.
MIXES = {"MixUp", "CutMix", "TimmMixup"}


def names() -> list[str]:
    """Returns the transforms that have a picture."""
    found = [one.__name__ for one in T.Transform.__subclasses__()]
    return [name for name in found if name not in WITHOUT_PICTURE]


def example(name: str) -> str:
    """Returns the transform as users write it, for the picture and its caption."""
    if name in EXAMPLES or getattr(T, name).example:
        return EXAMPLES.get(name) or str(getattr(T, name).example)
    arguments = fields(getattr(T, name))
    required = [one.name for one in arguments if one.default is MISSING]
    if required:
        raise ValueError(
            f"{name} has arguments without a default ({', '.join(required)}): give the class an example"
        )
    always = any(one.name == "p" and isinstance(one.default, float) for one in arguments)
    return f"T.{name}({'p=1' if always else ''})"


def draw(name: str, photo: Any, epoch: int) -> Any:
    """Returns the transformed photo as levels of shape (height, width, 3)."""
    transform = eval(example(name), {"T": T})
    if name in MIXES:
        return draw_mixed(transform, photo, epoch)
    if name in CROPS:
        return T.apply([transform], photo, crop=epoch)
    if name not in AFTER_TO_DTYPE:
        return T.apply([transform], photo, epoch=epoch)
    elements = T.apply([T.ToDtype("float32", scale=True), transform], photo, epoch=epoch)
    return np.round(np.clip(elements, 0, 1) * 255).astype(np.uint8)


def draw_mixed(transform: T.Transform, photo: Any, epoch: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for label, one in (("a", photo), ("b", photo[::-1, ::-1])):
            path = Path(folder) / label / "photo.png"
            path.parent.mkdir()
            Image.fromarray(one).save(path)
        transforms = [T.Resize(photo.shape[:2]), T.ToDtype("float32"), transform]
        with tundish.Loader(folder, 2, transforms=transforms, backend="numpy") as loader:
            loader.set_epoch(epoch)
            images, _ = next(iter(loader))
            return np.round(images[0].transpose(1, 2, 0)).astype(np.uint8)


def picture(name: str) -> Any:
    """Returns the photo and the results side by side. Shows a single result if all are equal."""
    photo = np.asarray(Image.open(FOLDER / PHOTO).convert("RGB"))
    draws = [draw(name, photo, epoch) for epoch in range(DRAWS)]
    if all(np.array_equal(one, draws[0]) for one in draws):
        draws = draws[:1]
    tiles = [photo, *draws]
    height = max(len(tile) for tile in tiles)
    width = sum(tile.shape[1] for tile in tiles) + GAP * (len(tiles) - 1)
    out = np.full((height, width, 3), 255, np.uint8)
    left = 0
    for tile in tiles:
        out[: tile.shape[0], left : left + tile.shape[1]] = tile
        left += tile.shape[1] + GAP
    return out


def coded(name: str) -> bytes:
    """Returns the encoded file. The quality is chosen to keep all files together small."""
    file = io.BytesIO()
    Image.fromarray(picture(name)).save(file, "JPEG", quality=82, subsampling=0, optimize=True)
    return file.getvalue()


def main() -> None:
    """Writes changed files and removes files of deleted transforms."""
    wanted = {f"{name}.jpg": coded(name) for name in names()}
    for old in FOLDER.glob("*.jpg"):
        if old.name not in wanted:
            old.unlink()
    for name, data in wanted.items():
        path = FOLDER / name
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


if __name__ == "__main__":
    main()
