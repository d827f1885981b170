"""Translates timm's transforms to a list of Tundish's transforms.

    transforms = T.from_timm(timm.data.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1"))

This module does not import timm. It recognizes timm's transforms by the names of their classes.
"""

from __future__ import annotations

import copy
import hashlib
import math
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from .. import transforms as T
from .._c.plain import plain
from .torchvision_arguments import PILLOW_FILTERS
from .transform import Transform
from .unmodified import modification

_FILTERS = ("nearest", "bilinear", "bicubic")
_TO_FLOATS = ("ToTensor", "MaybeToTensor")
_TO_LEVELS = ("PILToTensor", "MaybePILToTensor")
_FLIPS = ("RandomHorizontalFlip", "RandomVerticalFlip")

# Known lists of operations, by the digest of their text (_digest). _LISTS has the end of timm's RandAugment
# config string, _POLICIES the name of the AutoAugment policy.
_LISTS = {
    "399fd450562a2912": "",
    "72e3925fa9fada98": "-inc1",
    "ecad3455180f7411": "-tweights",
    "74fb616fa9da89ce": "-t3a",
    "e1107a4d628b0ac0": "-t3aw",
}
_POLICIES = {
    "6a397a724b786b9c": "original",
    "64b8438277a70361": "originalr",
    "79e1799fad0a674a": "v0",
    "2618a3e376e0b1e8": "v0r",
    "e0a9f365b6a119f0": "3a",
}


def from_timm(transform: Any) -> list[Transform]:
    """Translates the result of timm.data.create_transform() to a list of transforms for a Loader.

    Accepts transforms for training and for evaluation. Raises ValueError that names every step that cannot be
    translated.
    """
    if not _is("torchvision", "Compose", transform):
        raise ValueError(
            f"from_timm takes the Compose that timm.data.create_transform() returns, not {type(transform).__name__}"
            + (" (leave out separate=True)" if isinstance(transform, tuple) else "")
        )
    refused: list[str] = []
    if found := modification(transform):
        raise ValueError(f"from_timm cannot translate torchvision's Compose: {found}")
    _check_order(transform.transforms, refused)
    out = _translated(transform.transforms, refused)
    if refused:
        raise ValueError("from_timm cannot translate " + "; ".join(refused))
    # Normalize scales to 0..1 itself, so a ToDtype before it is dropped.
    scales = T.ToDtype("float32", scale=True)
    follows = [*out[1:], None]
    pairs = zip(out, follows, strict=True)
    return [
        transform
        for transform, following in pairs
        if transform != scales or not isinstance(following, T.Normalize)
    ]


def _check_order(steps: Iterable[Any], refused: list[str]) -> None:
    """Refuses steps after ToTensor that give other pixels on a tensor, and steps before it that need a tensor."""
    state = "a PIL image"
    for original in steps:
        name = type(original).__name__
        if name in _TO_FLOATS or name in _TO_LEVELS:
            if state != "a PIL image":
                refused.append(f"{_name(original)}: the image is already {state}; leave it out")
                continue
            state = "a tensor of floats" if name in _TO_FLOATS else "a tensor of levels"
        elif name in ("Normalize", "RandomErasing"):
            if state != "a tensor of floats":
                refused.append(f"{_name(original)}: it works on {state}; put ToTensor() before it")
        elif state != "a PIL image" and name not in _FLIPS and _known(original):
            refused.append(
                f"{_name(original)}: it works on {state}, where pixels differ; put it first"
            )


def _known(original: Any) -> bool:
    return (_package(original), type(original).__name__) in _TRANSLATIONS


def _translated(steps: Iterable[Any], refused: list[str]) -> list[Transform]:
    out: list[Transform] = []
    for original in steps:
        translate = _TRANSLATIONS.get((_package(original), type(original).__name__))
        if translate is None:
            refused.append(_name(original))
            continue
        if found := modification(original):
            refused.append(
                f"{_name(original)}: {found}, and only its class and arguments are translated"
            )
            continue
        try:
            out += translate(original)
        except ValueError as error:
            refused.append(f"{_name(original)}: {error}")
    return out


def _package(original: Any) -> str:
    return type(original).__module__.partition(".")[0]


def _name(original: Any) -> str:
    return f"{_package(original)}'s {type(original).__name__}"


def _is(package: str, name: str, original: Any) -> bool:
    return (_package(original), type(original).__name__) == (package, name)


def _filter(mode: Any) -> str:
    """Returns the name of an InterpolationMode, a Pillow filter, or "random" for timm's random choice."""
    if isinstance(mode, list | tuple):
        names = [_filter(choice) for choice in mode]
        if names != ["bilinear", "bicubic"]:
            raise ValueError(f"a random choice of the interpolations {', '.join(names)}")
        return "random"
    name = plain(mode)
    if isinstance(name, int) and 0 <= name < len(PILLOW_FILTERS):
        name = PILLOW_FILTERS[name]
    if name not in _FILTERS:
        raise ValueError(f"interpolation {name} (supported: {', '.join(_FILTERS)})")
    return str(name)


def _numbers(values: Any) -> tuple[float, ...]:
    """Converts a tensor or list to a tuple of floats."""
    return tuple(float(value) for value in values)


def _pair(value: Any) -> Any:
    """Converts an argument that torchvision stores as a list. Returns numbers and None unchanged."""
    return value if value is None or isinstance(value, int | float) else tuple(value)


# --- transforms of torchvision ------------------------------------------------------------------


def _resize(original: Any) -> list[Transform]:
    return [T.Resize(_pair(original.size), _filter(original.interpolation), original.max_size)]


def _random_apply(original: Any) -> list[Transform]:
    refused: list[str] = []
    conversions = (*_TO_FLOATS, *_TO_LEVELS, "Normalize", "RandomErasing")
    if any(type(step).__name__ in conversions for step in original.transforms):
        raise ValueError("it holds a conversion, but all images of a batch are converted alike")
    inner = _translated(original.transforms, refused)
    if refused:
        raise ValueError("; ".join(refused))
    return [T.RandomApply(inner, float(original.p))]


def _color_jitter(original: Any) -> list[Transform]:
    given = (original.brightness, original.contrast, original.saturation, original.hue)
    return [T.ColorJitter(*(_pair(value) for value in given))]


# --- transforms of timm -------------------------------------------------------------------------


def _random_resized_crop(original: Any) -> list[Transform]:
    name = _filter(original.interpolation)
    crops = [
        T.RandomResizedCrop(
            _pair(original.size), _pair(original.scale), _pair(original.ratio), each
        )
        for each in (("bilinear", "bicubic") if name == "random" else (name,))
    ]
    return [T.RandomChoice(crops)] if name == "random" else [*crops]


def _resize_keep_ratio(original: Any) -> list[Transform]:
    return [
        T.ResizeKeepRatio(
            _pair(original.size),
            original.longest,
            _filter(original.interpolation),
            original.random_scale_prob,
            _pair(original.random_scale_range),
            original.random_scale_area,
            original.random_aspect_prob,
            _pair(original.random_aspect_range),
        )
    ]


def _random_erasing(original: Any) -> list[Transform]:
    if (original.rand_color, original.per_pixel) != (
        original.mode == "rand",
        original.mode == "pixel",
    ):
        raise ValueError("rand_color and per_pixel do not match mode")
    # timm stores logarithms of the aspect ratios. num_splits applies to whole batches, not inside a Compose.
    low, high = (round(math.exp(value), 12) for value in original.log_aspect_ratio)
    return [
        T.TimmRandomErasing(
            probability=original.probability,
            min_area=original.min_area,
            max_area=original.max_area,
            min_aspect=low,
            max_aspect=None if math.isclose(high, 1 / low, rel_tol=1e-9) else high,
            mode=original.mode or "const",
            min_count=original.min_count,
            max_count=original.max_count,
        )
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _decimal(value: float) -> str:
    """Formats a number without an exponent, whose minus sign would end a section of the config string."""
    return f"{Decimal(repr(float(value))):f}"


def _check_operations(ops: list[Any]) -> None:
    """Refuses operations whose functions were replaced. timm looks the functions up by name on construction."""
    for op in ops:
        module = sys.modules[type(op).__module__]
        functions = (module.NAME_TO_OP[op.name], module.LEVEL_TO_ARG[op.name])
        found = "its functions were replaced" * ((op.aug_fn, op.level_fn) != functions)
        if found := found or modification(_without_functions(op)):
            raise ValueError(f"the operation {op.name}: {found}")


def _without_functions(op: Any) -> Any:
    """Returns a copy without the two functions that every operation holds."""
    out = copy.copy(op)
    del out.aug_fn, out.level_fn
    return out


def _same(ops: list[Any], name: str) -> Any:
    """Returns the value of an attribute that all operations share. Raises ValueError if the values differ."""
    values = [getattr(op, name) for op in ops]
    if any(value != values[0] for value in values):
        raise ValueError(f"operations with different {name}")
    return values[0]


def _look(ops: list[Any]) -> dict[str, Any]:
    """Returns fill and interpolation of the geometric operations."""
    look, hparams = _same(ops, "kwargs"), _same(ops, "hparams")
    return {
        "img_mean": _pair(look["fillcolor"]),
        "interpolation": _filter(look["resample"]),
        "translate_pct": hparams.get("translate_pct", 0.45),
    }


def _rand_augment(original: Any) -> list[Transform]:
    _check_operations(original.ops)
    weights = (
        [1.0] * len(original.ops) if original.choice_weights is None else original.choice_weights
    )
    text = ",".join(
        f"{op.name} {weight:.6f}" for op, weight in zip(original.ops, weights, strict=True)
    )
    ending = _LISTS.get(_digest(text))
    if ending is None:
        raise ValueError("a custom list of operations")
    magnitude, std = float(_same(original.ops, "magnitude")), _same(original.ops, "magnitude_std")
    if not magnitude.is_integer():
        raise ValueError(f"magnitude {magnitude} is not a whole number")
    config = (
        f"rand-m{int(magnitude)}-n{original.num_layers}-p{_decimal(_same(original.ops, 'prob'))}"
    )
    if std > 0:
        config += f"-mstd{_decimal(std) if std < math.inf else 101}"
    if limit := _same(original.ops, "magnitude_max"):
        config += f"-mmax{limit}"
    return [T.TimmRandAugment(config + ending, **_look(original.ops))]


def _auto_augment(original: Any) -> list[Transform]:
    lines = (
        ",".join(f"{op.name} {float(op.prob)} {float(op.magnitude)}" for op in part)
        for part in original.policy
    )
    config = _POLICIES.get(_digest(";".join(lines)))
    if config is None:
        raise ValueError("a custom policy")
    ops = [op for part in original.policy for op in part]
    _check_operations(ops)
    std = _same(ops, "magnitude_std")
    if std == math.inf or _same(ops, "magnitude_max"):
        raise ValueError("magnitude_max or a uniform magnitude")
    if std > 0:
        config += f"-mstd{_decimal(std)}"
    return [T.TimmAutoAugment(config, **_look(ops))]


def _augmix(_: Any) -> list[Transform]:
    raise ValueError("mixes several versions of an image; use RandAugment or AutoAugment")


_TRANSLATIONS: dict[tuple[str, str], Callable[[Any], list[Transform]]] = {
    ("torchvision", "Resize"): _resize,
    ("torchvision", "CenterCrop"): lambda original: [T.CenterCrop(_pair(original.size))],
    ("torchvision", "RandomHorizontalFlip"): lambda original: [
        T.RandomHorizontalFlip(float(original.p))
    ],
    ("torchvision", "RandomVerticalFlip"): lambda original: [
        T.RandomVerticalFlip(float(original.p))
    ],
    ("torchvision", "RandomGrayscale"): lambda original: [T.RandomGrayscale(float(original.p))],
    ("torchvision", "RandomApply"): _random_apply,
    ("torchvision", "ColorJitter"): _color_jitter,
    ("torchvision", "GaussianBlur"): lambda original: [
        T.GaussianBlur(_pair(original.kernel_size), _pair(original.sigma))
    ],
    ("torchvision", "Normalize"): lambda original: [
        T.Normalize(_numbers(original.mean), _numbers(original.std))
    ],
    ("torchvision", "ToTensor"): lambda _: [T.ToDtype("float32", scale=True)],
    ("torchvision", "PILToTensor"): lambda _: [],
    ("timm", "MaybeToTensor"): lambda _: [T.ToDtype("float32", scale=True)],
    ("timm", "MaybePILToTensor"): lambda _: [],
    ("timm", "RandomResizedCropAndInterpolation"): _random_resized_crop,
    ("timm", "ResizeKeepRatio"): _resize_keep_ratio,
    ("timm", "CenterCropOrPad"): lambda original: [
        T.CenterCropOrPad(_pair(original.size), _pair(original.fill), original.padding_mode)
    ],
    ("timm", "RandomCropOrPad"): lambda original: [
        T.RandomCropOrPad(_pair(original.size), _pair(original.fill), original.padding_mode)
    ],
    ("timm", "TrimBorder"): lambda original: [T.TrimBorder(original.border_size)],
    ("timm", "RandAugment"): _rand_augment,
    ("timm", "AutoAugment"): _auto_augment,
    ("timm", "AugMixAugment"): _augmix,
    ("timm", "RandomErasing"): _random_erasing,
}
