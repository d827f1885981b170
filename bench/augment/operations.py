"""The operations of `bench augment`, with fixed arguments named as in torchvision's functions.

All numbers are exact in float32, the type of torchvision's random numbers. Values that our transforms
draw at random (corners, windows, shifts) come from our plan, and every contestant gets the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tundish import transforms as T

SIDE = 224
AFFINE = {"angle": 12.0, "scale": 0.875, "shear": (8.0, -5.0), "translate": (0, 0)}


@dataclass(frozen=True)
class Operation:
    name: str
    group: str  # "pixel" or "affine", which count in the geometric mean, or "other"
    transform: T.Transform
    arguments: dict[str, Any] = field(default_factory=dict)
    drawn: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # arguments from a planned step
    off: int = 0  # allowed difference from torchvision on PIL images, in levels
    compared: bool = True  # False: only tundish defines the operation, so nothing can be compared
    random: bool = False  # random numbers differ per pixel, so only mean and deviation are compared

    def all_arguments(self) -> dict[str, Any]:
        if self.drawn is None:
            return self.arguments
        step = T.plan([self.transform], (SIDE, SIDE))["steps"][1]
        return self.arguments | self.drawn(step)


def jitter(name: str, factor: float) -> Operation:
    return Operation(name, "pixel", T.ColorJitter(**{name: (factor, factor)}), {"factor": factor})


def matrix(step: dict[str, Any]) -> dict[str, Any]:
    """Returns Pillow's matrix, by which (x, y) of the result shows (ax + by + c, dx + ey + f)."""
    return {"matrix": step["value"]}


def rotate(filter: str) -> Operation:
    given = {"angle": 17.0, "filter": filter}
    return Operation(
        f"rotate {filter}", "affine", T.RandomRotation((17, 17), filter), given, matrix
    )


def affine(filter: str) -> Operation:
    """Rotates, scales and shears."""
    angle, scale, (across, down) = AFFINE["angle"], AFFINE["scale"], AFFINE["shear"]
    shear = (across, across, down, down)
    transform = T.RandomAffine((angle, angle), None, (scale, scale), shear, filter)
    given = AFFINE | {"filter": filter}
    return Operation(f"affine {filter}", "affine", transform, given, matrix)


def translate(filter: str) -> Operation:
    """Translates by whole pixels, as RandomAffine and RandAugment do.

    With a filter, the operation does not count in the geometric mean. Pillow filters pixels that
    tundish only copies, which makes tundish a hundred times as fast.
    """
    transform = T.RandomAffine((0, 0), (0.2, 0.2), interpolation=filter)
    given = {"angle": 0.0, "scale": 1.0, "shear": (0.0, 0.0), "filter": filter}

    def drawn(step: dict[str, Any]) -> dict[str, Any]:
        shift = (-round(step["value"][2]), -round(step["value"][5]))
        return matrix(step) | {"translate": shift}

    group = "affine" if filter == "nearest" else "other"
    return Operation(f"translate {filter}", group, transform, given, drawn)


OPERATIONS = [
    jitter("brightness", 1.375),
    jitter("contrast", 1.375),
    jitter("saturation", 1.375),
    jitter("hue", 0.125),
    Operation("grayscale", "pixel", T.Grayscale(3)),
    Operation("invert", "pixel", T.RandomInvert(1)),
    Operation("posterize", "pixel", T.RandomPosterize(4, 1), {"bits": 4}),
    Operation("solarize", "pixel", T.RandomSolarize(128, 1), {"threshold": 128}),
    Operation("autocontrast", "pixel", T.RandomAutocontrast(1)),
    Operation("equalize", "pixel", T.RandomEqualize(1)),
    Operation("sharpness", "pixel", T.RandomAdjustSharpness(1.75, 1), {"factor": 1.75}),
    Operation(
        "permute channels",
        "other",
        T.RandomChannelPermutation(),
        drawn=lambda step: {"order": [int(one) for one in step["value"]]},
    ),
    rotate("nearest"),
    rotate("bilinear"),
    affine("nearest"),
    affine("bilinear"),
    affine("bicubic"),
    translate("nearest"),
    translate("bilinear"),
    Operation(
        "perspective bilinear",
        "other",
        T.RandomPerspective(0.5, 1),
        {"filter": "bilinear"},
        lambda step: {"coefficients": step["value"]},
    ),
    Operation(
        "GaussianBlur 23", "other", T.GaussianBlur(23, 1.25), {"kernel": 23, "sigma": 1.25}, off=1
    ),
    # tundish computes the random numbers from the key while the clock runs; the others receive them.
    Operation(
        "elastic",
        "other",
        T.ElasticTransform(50.0, 5.0),
        {"alpha": 50.0, "sigma": 5.0},
        lambda step: {"key": step["key"]},
        off=1,
    ),
    Operation("PillowGaussianBlur 1", "other", T.PillowGaussianBlur(1, 1), {"radius": 1}),
    Operation("PillowGaussianBlur 2", "other", T.PillowGaussianBlur(2, 1), {"radius": 2}),
    Operation("noise", "other", T.GaussianNoise(0, 0.1), {"sigma": 0.1}, random=True),
    Operation(
        "erase",
        "other",
        T.RandomErasing(1, (0.1, 0.1), (1, 1)),
        drawn=lambda step: {"window": step["window"]},
    ),
    Operation("JPEG 75", "other", T.JPEG(75), {"quality": 75}),
]
# Adds every other transform that has an example. Transforms that contestants share are listed above.
OPERATIONS += [
    Operation(kind.__name__, "other", eval(kind.example, {"T": T}), compared=False)
    for kind in T.Transform.__subclasses__()
    if kind.example and kind not in {type(one.transform) for one in OPERATIONS}
]
