"""timm's recipes as a list of Tundish's transforms.

transforms = T.from_timm(timm.data.create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1"))

timm is not imported: what it made is recognised by its classes.
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
from .torchvision_arguments import OF_PILLOW
from .transform import Transform
from .unmodified import modification

_FILTERS = ("nearest", "bilinear", "bicubic")
_TO_FLOATS = ("ToTensor", "MaybeToTensor")
_TO_LEVELS = ("PILToTensor", "MaybePILToTensor")
_FLIPS = ("RandomHorizontalFlip", "RandomVerticalFlip")

# Lists of operations by the digest of their text (_digest): the end of a config string of RandAugment, and a policy
# of AutoAugment.
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
    """The Compose that timm.data.create_transform() returns, for training or for evaluation, as a list for a Loader.

    Raises ValueError that names every step which cannot be translated."""
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
    # Normalize scales by itself.
    scales = T.ToDtype("float32", scale=True)
    follows = [*out[1:], None]
    pairs = zip(out, follows, strict=True)
    return [one for one, then in pairs if one != scales or not isinstance(then, T.Normalize)]


def _check_order(steps: Iterable[Any], refused: list[str]) -> None:
    """Refuses what works on a tensor, where its pixels differ, and values of what is no tensor of floats."""
    state = "a PIL image"
    for one in steps:
        name = type(one).__name__
        if name in _TO_FLOATS or name in _TO_LEVELS:
            if state != "a PIL image":
                refused.append(f"{_name(one)}: the image is {state} already; leave it out")
                continue
            state = "a tensor of floats" if name in _TO_FLOATS else "a tensor of levels"
        elif name in ("Normalize", "RandomErasing"):
            if state != "a tensor of floats":
                refused.append(f"{_name(one)}: it works on {state}; put ToTensor() before it")
        elif state != "a PIL image" and name not in _FLIPS and _known(one):
            refused.append(f"{_name(one)}: it works on {state}, where pixels differ; put it first")


def _known(one: Any) -> bool:
    return (_package(one), type(one).__name__) in _TRANSLATIONS


def _translated(steps: Iterable[Any], refused: list[str]) -> list[Transform]:
    out: list[Transform] = []
    for one in steps:
        translate = _TRANSLATIONS.get((_package(one), type(one).__name__))
        if translate is None:
            refused.append(_name(one))
            continue
        if found := modification(one):
            refused.append(
                f"{_name(one)}: {found}, and only its class and arguments are translated"
            )
            continue
        try:
            out += translate(one)
        except ValueError as error:
            refused.append(f"{_name(one)}: {error}")
    return out


def _package(one: Any) -> str:
    return type(one).__module__.partition(".")[0]


def _name(one: Any) -> str:
    return f"{_package(one)}'s {type(one).__name__}"


def _is(package: str, name: str, one: Any) -> bool:
    return (_package(one), type(one).__name__) == (package, name)


def _filter(mode: Any) -> str:
    """Returns the name of an InterpolationMode or a filter of Pillow, or "random" where timm draws one of two."""
    if isinstance(mode, list | tuple):
        names = [_filter(one) for one in mode]
        if names != ["bilinear", "bicubic"]:
            raise ValueError(f"a random choice of the interpolations {', '.join(names)}")
        return "random"
    name = plain(mode)
    if isinstance(name, int) and 0 <= name < len(OF_PILLOW):
        name = OF_PILLOW[name]
    if name not in _FILTERS:
        raise ValueError(f"interpolation {name} (there are {', '.join(_FILTERS)})")
    return str(name)


def _numbers(values: Any) -> tuple[float, ...]:
    """Of a tensor or a list."""
    return tuple(float(value) for value in values)


def _pair(value: Any) -> Any:
    """Of an argument that torchvision keeps as a list, or as None."""
    return value if value is None or isinstance(value, int | float) else tuple(value)


# --- torchvision's ------------------------------------------------------------------------------


def _resize(one: Any) -> list[Transform]:
    return [T.Resize(_pair(one.size), _filter(one.interpolation), one.max_size)]


def _random_apply(one: Any) -> list[Transform]:
    refused: list[str] = []
    conversions = (*_TO_FLOATS, *_TO_LEVELS, "Normalize", "RandomErasing")
    if any(type(step).__name__ in conversions for step in one.transforms):
        raise ValueError("it holds a conversion, and all images of a batch are converted alike")
    inner = _translated(one.transforms, refused)
    if refused:
        raise ValueError("; ".join(refused))
    return [T.RandomApply(inner, float(one.p))]


def _color_jitter(one: Any) -> list[Transform]:
    given = (one.brightness, one.contrast, one.saturation, one.hue)
    return [T.ColorJitter(*(_pair(value) for value in given))]


# --- timm's -------------------------------------------------------------------------------------


def _random_resized_crop(one: Any) -> list[Transform]:
    name = _filter(one.interpolation)
    crops = [
        T.RandomResizedCrop(_pair(one.size), _pair(one.scale), _pair(one.ratio), each)
        for each in (("bilinear", "bicubic") if name == "random" else (name,))
    ]
    return [T.RandomChoice(crops)] if name == "random" else [*crops]


def _resize_keep_ratio(one: Any) -> list[Transform]:
    return [
        T.ResizeKeepRatio(
            _pair(one.size),
            one.longest,
            _filter(one.interpolation),
            one.random_scale_prob,
            _pair(one.random_scale_range),
            one.random_scale_area,
            one.random_aspect_prob,
            _pair(one.random_aspect_range),
        )
    ]


def _random_erasing(one: Any) -> list[Transform]:
    if (one.rand_color, one.per_pixel) != (one.mode == "rand", one.mode == "pixel"):
        raise ValueError("rand_color and per_pixel are not what mode says")
    # timm keeps the logarithms. num_splits is for whole batches: it does nothing in a Compose.
    low, high = (round(math.exp(value), 12) for value in one.log_aspect_ratio)
    return [
        T.TimmRandomErasing(
            probability=one.probability,
            min_area=one.min_area,
            max_area=one.max_area,
            min_aspect=low,
            max_aspect=None if math.isclose(high, 1 / low, rel_tol=1e-9) else high,
            mode=one.mode or "const",
            min_count=one.min_count,
            max_count=one.max_count,
        )
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _decimal(value: float) -> str:
    """Without an exponent, whose sign would end a section."""
    return f"{Decimal(repr(float(value))):f}"


def _check_operations(ops: list[Any]) -> None:
    """An operation of timm finds its functions by its name when it is constructed."""
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
    """What all operations have in common."""
    values = [getattr(op, name) for op in ops]
    if any(value != values[0] for value in values):
        raise ValueError(f"operations with different {name}")
    return values[0]


def _look(ops: list[Any]) -> dict[str, Any]:
    """Fill and interpolation of the operations that move pixels."""
    look, hparams = _same(ops, "kwargs"), _same(ops, "hparams")
    return {
        "img_mean": _pair(look["fillcolor"]),
        "interpolation": _filter(look["resample"]),
        "translate_pct": hparams.get("translate_pct", 0.45),
    }


def _rand_augment(one: Any) -> list[Transform]:
    _check_operations(one.ops)
    weights = [1.0] * len(one.ops) if one.choice_weights is None else one.choice_weights
    text = ",".join(f"{op.name} {weight:.6f}" for op, weight in zip(one.ops, weights, strict=True))
    ending = _LISTS.get(_digest(text))
    if ending is None:
        raise ValueError("a list of operations of your own")
    magnitude, std = float(_same(one.ops, "magnitude")), _same(one.ops, "magnitude_std")
    if not magnitude.is_integer():
        raise ValueError(f"magnitude {magnitude}, which is not a whole number")
    config = f"rand-m{int(magnitude)}-n{one.num_layers}-p{_decimal(_same(one.ops, 'prob'))}"
    if std > 0:
        config += f"-mstd{_decimal(std) if std < math.inf else 101}"
    if limit := _same(one.ops, "magnitude_max"):
        config += f"-mmax{limit}"
    return [T.TimmRandAugment(config + ending, **_look(one.ops))]


def _auto_augment(one: Any) -> list[Transform]:
    lines = (
        ",".join(f"{op.name} {float(op.prob)} {float(op.magnitude)}" for op in part)
        for part in one.policy
    )
    config = _POLICIES.get(_digest(";".join(lines)))
    if config is None:
        raise ValueError("a policy of your own")
    ops = [op for part in one.policy for op in part]
    _check_operations(ops)
    std = _same(ops, "magnitude_std")
    if std == math.inf or _same(ops, "magnitude_max"):
        raise ValueError("magnitude_max, or a uniform magnitude")
    if std > 0:
        config += f"-mstd{_decimal(std)}"
    return [T.TimmAutoAugment(config, **_look(ops))]


def _augmix(_: Any) -> list[Transform]:
    raise ValueError("a mix of several images of one; RandAugment and AutoAugment are possible")


_TRANSLATIONS: dict[tuple[str, str], Callable[[Any], list[Transform]]] = {
    ("torchvision", "Resize"): _resize,
    ("torchvision", "CenterCrop"): lambda one: [T.CenterCrop(_pair(one.size))],
    ("torchvision", "RandomHorizontalFlip"): lambda one: [T.RandomHorizontalFlip(float(one.p))],
    ("torchvision", "RandomVerticalFlip"): lambda one: [T.RandomVerticalFlip(float(one.p))],
    ("torchvision", "RandomGrayscale"): lambda one: [T.RandomGrayscale(float(one.p))],
    ("torchvision", "RandomApply"): _random_apply,
    ("torchvision", "ColorJitter"): _color_jitter,
    ("torchvision", "GaussianBlur"): lambda one: [
        T.GaussianBlur(_pair(one.kernel_size), _pair(one.sigma))
    ],
    ("torchvision", "Normalize"): lambda one: [T.Normalize(_numbers(one.mean), _numbers(one.std))],
    ("torchvision", "ToTensor"): lambda _: [T.ToDtype("float32", scale=True)],
    ("torchvision", "PILToTensor"): lambda _: [],
    ("timm", "MaybeToTensor"): lambda _: [T.ToDtype("float32", scale=True)],
    ("timm", "MaybePILToTensor"): lambda _: [],
    ("timm", "RandomResizedCropAndInterpolation"): _random_resized_crop,
    ("timm", "ResizeKeepRatio"): _resize_keep_ratio,
    ("timm", "CenterCropOrPad"): lambda one: [
        T.CenterCropOrPad(_pair(one.size), _pair(one.fill), one.padding_mode)
    ],
    ("timm", "RandomCropOrPad"): lambda one: [
        T.RandomCropOrPad(_pair(one.size), _pair(one.fill), one.padding_mode)
    ],
    ("timm", "TrimBorder"): lambda one: [T.TrimBorder(one.border_size)],
    ("timm", "RandAugment"): _rand_augment,
    ("timm", "AutoAugment"): _auto_augment,
    ("timm", "AugMixAugment"): _augmix,
    ("timm", "RandomErasing"): _random_erasing,
}
