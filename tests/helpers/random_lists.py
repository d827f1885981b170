"""Random lists of transforms that a loader accepts. The number of a list determines the list.

The classes come from tundish.transforms, and the arguments from the engine's descriptions, so new
transforms are included automatically. SPECIAL has arguments that the descriptions do not fully specify.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tundish
from tundish import transforms as T
from tundish._c.library import lib

REFERENCE = {one["name"]: one for one in json.loads(lib.tundish_reference())["transforms"]}
CLASSES = {one.__name__: one for one in T.Transform.__subclasses__()}
HOLDERS = {
    name for name, one in REFERENCE.items() if any(f["name"] == "transforms" for f in one["fields"])
}
VALUES = ("Normalize", "ToDtype")
LARGER = ("PadTo",)  # only after a transform that fixes the size, because the image must fit
CROPS = ("FiveCrop", "TenCrop")  # at most one per list, and not in containers
MIXES = ("MixUp", "CutMix", "TimmMixup")  # only at the end of a list
FLOATS = ("float32", "float16", "bfloat16")
# Arguments of transforms that change the size of an image.
SIZE_ARGUMENTS = {"size", "padding", "border_size", "expand", "target_size", "min_size"}
MOST = 3.0  # upper limit of numbers, so that images stay small
DEPTH = 2  # maximum nesting depth of containers


@dataclass(frozen=True)
class Place:
    """The context in which a transform is drawn: its position in the list."""

    pick: random.Random
    least: int = 1  # lower bound of each side of the image in pixels
    elements: bool = False  # whether the position is after ToDtype or Normalize
    depth: int = 0
    sides: tuple[int, ...] = (16, 24, 32, 33, 40, 47, 48)  # possible sides of resulting images

    def side(self) -> int:
        return self.pick.choice(self.sides)

    def share(self) -> float:
        return self.pick.choice([0.0, 1.0, 0.5, self.pick.random()])


# --- arguments from the engine's descriptions ---------------------------------------------------


def level(place: Place) -> Any:
    pick = place.pick
    levels = [pick.choice([0, 255, pick.randint(0, 255)]) for _ in range(3)]
    return pick.choice([levels[0], levels])


def padding(place: Place) -> Any:
    sides = [place.pick.randint(0, 9) for _ in range(4)]
    return place.pick.choice([sides[0], sides[:2], sides])


def size(place: Place) -> Any:
    return place.pick.choice([place.side(), [place.side(), place.side()]])


def limits(wanted: str) -> tuple[float, float]:
    found = re.search(r"from (\S+) to ([^\s,]+)", wanted)
    low, high = map(float, found.groups()) if found else (-MOST, MOST)
    least = re.search(r"at least ([^\s,]+)", wanted)
    if least:
        low = float(least[1])
    return max(low, -MOST), min(high, max(MOST, low))


def number(place: Place, low: float, high: float) -> float:
    return place.pick.choice([low, high, place.pick.uniform(low, high)])


def ordered(place: Place, low: float, high: float, count: int = 2) -> list[float]:
    return sorted(number(place, low, high) for _ in range(count))


def from_words(place: Place, wanted: str, default: Any) -> Any:
    """Draws an argument that is valid according to the text of the engine's description."""
    pick = place.pick
    if wanted.endswith(", or none"):
        if pick.random() < 0.3:
            return None
        wanted = wanted.removesuffix(", or none")
    low, high = limits(wanted)
    count = {"two numbers": 2, "three numbers": 3, "four numbers": 4}
    simple: dict[str, Callable[[], Any]] = {
        "one of ": lambda: pick.choice(wanted.removeprefix("one of ").split(", ")),
        "true or false": lambda: pick.random() < 0.5,
        "a level": lambda: level(place),
        "one, two or four numbers of pixels": lambda: padding(place),
        "a number of pixels or": lambda: size(place),
        "an angle": lambda: pick.choice([pick.uniform(0, 180), ordered(place, -90, 90)]),
        "a number of at least 0, or two": lambda: pick.choice(
            [pick.uniform(0, min(high, 1)), ordered(place, max(low, -0.5), high)]
        ),
        "one number or two": lambda: pick.choice(
            [number(place, low, high), ordered(place, low, high)]
        ),
        "one whole number or two": lambda: pick.randint(int(low), int(high)),
        "a whole number": lambda: pick.randint(int(low), int(high)),
        "a number": lambda: number(place, low, high),
        **{words: lambda n=n: ordered(place, low, high, n) for words, n in count.items()},
    }
    for words, draw in simple.items():
        if wanted.startswith(words):
            return draw()
    return default


# --- arguments that the engine's text does not fully describe -----------------------------------


def ratio(place: Place, _: dict[str, Any]) -> list[float]:
    return ordered(place, 0.2, 4.0)


def kernel(place: Place, _: dict[str, Any]) -> Any:
    """Draws a kernel size: odd, and small enough that half of the kernel fits into the image."""
    odd = [n for n in (1, 3, 5, 9, 13, 23) if n // 2 < place.least]
    return place.pick.choice([place.pick.choice(odd), [place.pick.choice(odd) for _ in range(2)]])


def value(place: Place, _: dict[str, Any]) -> Any:
    """Draws the argument `value` of RandomErasing."""
    if place.elements:
        numbers = [place.pick.uniform(-3, 3) for _ in range(3)]
        return place.pick.choice(["random", 0, numbers[0], numbers])
    return place.pick.choice(["random", level(place)])


def rand_config(place: Place, _: dict[str, Any]) -> str:
    pick = place.pick
    text = f"rand-m{pick.randint(0, 12)}-n{pick.randint(0, 3)}"
    text += pick.choice(["", f"-p{pick.choice([0, 0.3, 1])}"])
    text += pick.choice(["", "-mstd0", "-mstd0.5", "-mstd101", "-mstd1-mmax20"])
    return text + pick.choice(["", "-inc1", "-inc0", "-tweights", "-t3a", "-t3aw-inc1"])


def auto_config(place: Place, _: dict[str, Any]) -> str:
    policy = place.pick.choice(["original", "originalr", "v0", "v0r", "3a"])
    return policy + place.pick.choice(["", "-mstd0.5", "-mstd5"])


def center(place: Place, _: dict[str, Any]) -> Any:
    return place.pick.choice([None, [place.pick.uniform(-10, 60) for _ in range(2)]])


def crop_size(place: Place, _: dict[str, Any]) -> Any:
    """Draws the size of a RandomCrop. After ToDtype, it cannot pad the image."""
    if not place.elements:
        return size(place)
    return [place.pick.randint(max(1, place.least - 5), place.least) for _ in range(2)]


def needs_padding(place: Place, drawn: dict[str, Any]) -> bool:
    sides = drawn["size"] if isinstance(drawn["size"], list) else [drawn["size"]]
    return not place.elements and (max(sides) > place.least or place.pick.random() < 0.5)


def held(place: Place, name: str) -> list[T.Transform]:
    inside = replace(place, depth=place.depth + 1)
    if name == "RandomOrder":  # the list must be valid in any order
        inside = replace(inside, least=1)
    out: list[T.Transform] = []
    for _ in range(place.pick.randint(0 if name == "RandomApply" else 1, 3)):
        out.append(draw_transform(inside, keeps_size=place.elements))
        if name == "RandomApply":
            inside = replace(inside, least=least_after(out[-1], inside.least))
    return out


def weights(place: Place, drawn: dict[str, Any]) -> Any:
    many = [place.pick.choice([0, 1, place.pick.random()]) for _ in drawn["transforms"]]
    return place.pick.choice([None, [*many[:-1], 1.5]])


Special = Callable[[Place, dict[str, Any]], Any]
SPECIAL: dict[str, Special] = {  # "argument", or "Transform.argument", which takes precedence
    "ratio": ratio,
    "RandomResizedCrop.scale": lambda place, _: ordered(place, 0.05, 1.3),
    "kernel_size": kernel,
    "sigma": lambda place, _: ordered(place, 0.1, 4.0),
    "ElasticTransform.alpha": lambda place, _: place.pick.uniform(-90, 90),
    "ElasticTransform.sigma": lambda place, _: ordered(  # 4 standard deviations must fit the image
        place, 0.05, min(4.0, max(0.1, (place.least - 1) / 4 - 0.2))
    ),
    "GaussianNoise.sigma": lambda place, _: place.pick.uniform(0, 0.5),
    "value": value,
    "TimmRandAugment.config": rand_config,
    "TimmAutoAugment.config": auto_config,
    "center": center,
    "draft": lambda place, _: False,  # only valid first in a list; see tests/pixels/test_draft.py
    "quality": lambda place, _: sorted(place.pick.randint(1, 100) for _ in range(2)),
    "bits": lambda place, _: place.pick.randint(0, 8),
    "threshold": lambda place, _: place.pick.choice([0, 255, place.pick.uniform(0, 255)]),
    "num_output_channels": lambda place, _: 3,
    "num_ops": lambda place, _: place.pick.randint(0, 4),
    "num_magnitude_bins": lambda place, _: place.pick.randint(13, 40),
    "magnitude": lambda place, _: place.pick.randint(0, 12),
    "RandomAffine.scale": lambda place, _: ordered(place, 0.3, 2.0),
    "AugMix.interpolation": lambda place, _: place.pick.choice(["nearest", "bilinear"]),
    "ElasticTransform.interpolation": lambda place, _: place.pick.choice(["nearest", "bilinear"]),
    "AugMix.severity": lambda place, _: place.pick.randint(1, 10),
    "mixture_width": lambda place, _: place.pick.randint(1, 3),
    "chain_depth": lambda place, _: place.pick.choice([-1, 1, 2]),
    "RandomCrop.size": crop_size,
    "RandomCrop.padding": lambda place, _: None if place.elements else padding(place),
    "pad_if_needed": needs_padding,
    "max_size": lambda place, drawn: (
        place.pick.choice([None, drawn["size"] + place.pick.randint(1, 30)])
        if isinstance(drawn["size"], int)
        else None
    ),
    "target_size": lambda place, _: [place.side(), place.side()],
    "scale_range": lambda place, _: ordered(place, 0.3, 2.0),
    "RandomShortestSize.min_size": lambda place, _: place.pick.choice(
        [place.side(), [place.side() for _ in range(3)]]
    ),
    "RandomShortestSize.max_size": lambda place, _: place.pick.choice([None, place.side()]),
    "RandomResize.min_size": lambda place, _: place.side(),
    "RandomResize.max_size": lambda place, drawn: drawn["min_size"] + place.pick.randint(1, 20),
    "border_size": lambda place, _: place.pick.randint(0, min(4, (place.least - 1) // 2)),
    "random_scale_range": lambda place, _: ordered(place, 0.5, 1.5),
    "random_aspect_range": lambda place, _: ordered(place, 0.5, 2.0),
    "translate_pct": lambda place, _: place.share(),
    "max_area": lambda place, drawn: place.pick.uniform(drawn["min_area"], 1),
    "min_aspect": lambda place, _: place.pick.uniform(0.1, 1),
    "max_aspect": lambda place, _: place.pick.choice([None, place.pick.uniform(1, 5)]),
    "min_count": lambda place, _: place.pick.randint(0, 3),
    "max_count": lambda place, drawn: place.pick.choice([None, drawn["min_count"] + 2]),
    "mean": lambda place, _: [place.pick.uniform(-1, 1) for _ in range(3)],
    "GaussianNoise.mean": lambda place, _: place.pick.uniform(-0.5, 0.5),
    "std": lambda place, _: [place.pick.choice([0.2, 1.0, -0.5, 3.0]) for _ in range(3)],
    "RandomChoice.p": weights,
    "num_classes": lambda place, _: 2000,
    "alpha": lambda place, _: place.pick.uniform(0.1, 3),
    "mixup_alpha": lambda place, _: place.pick.uniform(0.1, 3),
    "cutmix_minmax": lambda place, _: place.pick.choice([None, (0.2, 0.8)]),
    "transforms": lambda place, drawn: held(place, drawn[""]),
}


# --- transforms and lists -----------------------------------------------------------------------


def argument(place: Place, name: str, field: dict[str, Any], drawn: dict[str, Any]) -> Any:
    special = SPECIAL.get(f"{name}.{field['name']}") or SPECIAL.get(field["name"])
    if special:
        return special(place, {"": name, **drawn})
    return from_words(place, field["wanted"], field["default"])


def draw_one(place: Place, name: str) -> T.Transform:
    drawn: dict[str, Any] = {}
    for field in REFERENCE[name]["fields"]:
        drawn[field["name"]] = argument(place, name, field, drawn)
    return CLASSES[name](**drawn)


@functools.cache
def names(elements: bool) -> list[str]:
    """Returns the names of transforms that are valid on uint8 levels, or on elements after ToDtype."""
    out = sorted(HOLDERS)
    before = [T.Normalize()] if elements else []
    for name in sorted(set(CLASSES) - set(VALUES + CROPS + MIXES + LARGER) - HOLDERS):
        place = Place(random.Random(1), least=32, elements=elements, depth=DEPTH)
        try:
            T.plan([*before, draw_one(place, name)], (64, 64))
        except tundish.ArgumentError as error:
            if "must come" not in str(error):
                raise
        else:
            out.append(name)
    return out


def changes_size(transform: T.Transform) -> bool:
    inside = getattr(transform, "transforms", ())
    own = SIZE_ARGUMENTS & set(vars(transform))
    return any(map(changes_size, inside)) or any(
        name != "expand" or transform.expand for name in own
    )


def draw_transform(place: Place, keeps_size: bool = False) -> T.Transform:
    while True:
        name = place.pick.choice(names(place.elements))
        if name in HOLDERS and place.depth >= DEPTH:
            continue
        drawn = draw_one(place, name)
        if not keeps_size or not changes_size(drawn):
            return drawn


def sides_of(transform: T.Transform) -> list[int]:
    given = transform.size
    if isinstance(given, T.Schedule):
        given = given.sizes[0]  # all sizes have the same two sides; see scheduled()
    return [given] if isinstance(given, int) else list(given)


def least_after(transform: T.Transform, least: int) -> int:
    """Returns the smallest possible side after a transform, if it was `least` before."""
    name = type(transform).__name__
    if not changes_size(transform) or name == "Pad":
        return least
    if name == "TrimBorder":
        return least - 2 * transform.border_size
    if name == "Resize" and transform.max_size is None:
        return min(sides_of(transform))
    if name in FIXED:
        return min(sides_of(transform))
    return 1


FIXED = ("CenterCrop", "CenterCropOrPad", "RandomCropOrPad", "RandomCrop", "RandomResizedCrop")


def fixed_size(place: Place) -> T.Transform:
    """Draws a transform with a fixed result size, because all images of a batch must have one size."""
    name = place.pick.choice([*FIXED, "Resize"])
    if name == "Resize":
        return T.Resize([place.side(), place.side()], place.pick.choice(["nearest", "bicubic"]))
    return draw_one(place, name)


def scheduled(place: Place, transform: T.Transform) -> T.Transform:
    """Sometimes returns a transform whose width and height are swapped from epoch to epoch."""
    sides = sides_of(transform)
    if place.pick.random() > 0.2 or len(sides) == 1:
        return transform
    return replace(transform, size=T.Schedule({0: sides, place.pick.randint(1, 3): sides[::-1]}))


def values_of(pick: random.Random) -> list[T.Transform]:
    """Draws one of the combinations of ToDtype and Normalize that a loader accepts."""
    place = Place(pick)
    to = T.ToDtype(pick.choice(FLOATS), pick.random() < 0.7)
    choices = [[], [T.ToDtype("uint8", pick.random() < 0.5)], [to], [draw_one(place, "Normalize")]]
    choices += [[to, draw_one(place, "Normalize")]] * 2
    choices += [[draw_one(place, "Normalize"), T.ToDtype(pick.choice(FLOATS), False)]]
    return pick.choice(choices)


def draw_list(number: int, side: int | None = None) -> list[T.Transform]:
    """Draws list `number`. With `side`, it begins with RandomResizedCrop and keeps about this size."""
    pick = random.Random(number)
    place = Place(pick)
    out: list[T.Transform] = []
    if side:
        out.append(T.RandomResizedCrop(side))
        place = replace(place, least=side, sides=(side, side - 8, side // 2 + 1))
    for _ in range(pick.randint(0, 4)):
        out.append(draw_transform(place))
        place = replace(place, least=least_after(out[-1], place.least))
    out.append(scheduled(place, fixed_size(place)))
    place = replace(place, least=least_after(out[-1], place.least))
    if pick.random() < 0.1:
        out.append(
            T.PadTo([max(sides_of(out[-1])) + pick.randint(0, 9) for _ in range(2)], level(place))
        )
    for _ in range(pick.randint(0, 3)):
        out.append(draw_transform(place, keeps_size=True))
    values = values_of(pick)
    out += values
    if any(getattr(one, "dtype", "float32") != "uint8" for one in values):
        place = replace(place, elements=True)
        for _ in range(pick.randint(0, 3)):
            out.append(draw_transform(place, keeps_size=pick.random() < 0.7))
            place = replace(place, least=least_after(out[-1], place.least))
        if pick.random() < 0.3:
            out.append(mixing(place))
            return out
    if pick.random() < 0.15:
        crop = draw_one(
            replace(place, sides=(place.least, place.least // 2 + 1)), pick.choice(CROPS)
        )
        out.append(crop)  # at the end, because later transforms could need a larger image
    return out


def mixing(place: Place) -> T.Transform:
    names = [place.pick.choice(MIXES) for _ in range(place.pick.randint(1, 3))]
    drawn = [draw_one(place, name) for name in names]
    modes = [getattr(one, "mode", "batch") for one in drawn]
    if len(drawn) == 1 or len(set(modes)) > 1:
        return place.pick.choice([drawn[0], T.RandomApply(drawn[:1], p=place.share())])
    return T.RandomChoice(drawn)
