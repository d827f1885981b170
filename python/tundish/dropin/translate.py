"""The transforms of a data set as those of tundish, or why not, with the line of the user's code."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..transforms.from_timm import from_timm
from ..transforms.from_torchvision import from_torchvision
from ..transforms.replacements import instead_of
from ..transforms.transform import Transform
from .reasons import NotTranslated, Reason, keep
from .where_defined import where_defined

# Those whose result is a function of the image alone.
_FIXED = {"Resize", "CenterCrop", "CenterCropOrPad", "Pad", "Grayscale", "FiveCrop", "TenCrop"}
_FIXED |= {"ToDtype", "Normalize", "TrimBorder"}


def translate(transforms: list[Any]) -> list[Transform]:
    """Of data sets that are concatenated: one list for all of them."""
    made = [_translate(one) for one in transforms]
    if any(one != made[0] for one in made):
        raise keep(
            "the parts of ConcatDataset have different transforms", "give all of them the same"
        )
    return made[0]


def _translate(transform: Any) -> list[Transform]:
    if transform is None:
        raise keep(
            "the data set has no transform, and torch cannot collate PIL images",
            "give it one, such as v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])",
        )
    steps = leaves(transform)
    own = [step for step in steps if not _package(step)]
    if own:
        raise NotTranslated(*[_of_user(step) for step in own])
    convert = from_timm if any(_package(step) == "timm" for step in steps) else from_torchvision
    try:
        return convert(transform)
    except ValueError as error:
        what, _, fix = str(error).partition("; fix: ")
        raise keep(what, fix or "change the list (docs/transforms.md)") from None


def is_fixed(transforms: list[Transform]) -> bool:
    """Nothing is left to chance: both ways must give the same pixels."""
    return all(type(one).__name__ in _FIXED for one in transforms)


def _of_user(step: Any) -> Reason:
    function = getattr(step, "lambd", step)
    name = getattr(function, "__name__", type(function).__name__)
    return Reason(f"the transform {name} is Python", instead_of("Lambda"), where_defined(function))


def leaves(transform: Any) -> list[Any]:
    """Without the lists that hold them; a list of the user's own is one of its steps."""
    held = transform if isinstance(transform, list | tuple) else None
    if _package(transform) == "torch":  # Sequential, ModuleList
        held = list(transform)
    elif _package(transform):
        held = getattr(transform, "transforms", None)
    if held is None:
        return [transform]
    return [leaf for one in held for leaf in leaves(one)]


def _package(step: Any) -> str:
    """The library that it is of; empty for code of the user's, and for what holds such code."""
    module = type(step).__module__
    if type(step).__name__ == "Lambda":
        return ""
    if module.startswith("torch.nn.modules.container"):
        return "torch"
    name = module.split(".")[0]
    return name if name in ("torchvision", "timm") else ""


def described(transforms: list[Transform]) -> str:
    """With the arguments that are not the default."""
    out = []
    for one in transforms:
        given = [(f.name, getattr(one, f.name), f.default) for f in fields(one)]
        words = [f"{name}={value!r}" for name, value, default in given if value != default]
        out.append(f"{type(one).__name__}({', '.join(words)})")
    return ", ".join(out) or "none"
