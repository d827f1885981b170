"""Translates the transforms of a dataset, or reports the user code that prevents the translation."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

from ..transforms.from_timm import from_timm
from ..transforms.from_torchvision import from_torchvision
from ..transforms.replacements import instead_of
from ..transforms.transform import Transform
from ..transforms.unmodified import modification
from .reasons import NotTranslated, Reason, not_translated
from .single_calls import Unclear, held_by
from .where_defined import where_defined

# Transforms without randomness.
_FIXED = {"Resize", "CenterCrop", "CenterCropOrPad", "Pad", "Grayscale", "FiveCrop", "TenCrop"}
_FIXED |= {"ToDtype", "Normalize", "TrimBorder"}


def translate(transforms: list[Any]) -> list[Transform]:
    """Translates the transforms of concatenated datasets to one list. All datasets must have equal transforms."""
    made = [_translate(transform) for transform in transforms]
    if any(other != made[0] for other in made):
        raise not_translated(
            "the parts of ConcatDataset have different transforms",
            "give all parts the same transforms",
        )
    return made[0]


def _translate(transform: Any) -> list[Transform]:
    if transform is None:
        raise not_translated(
            "the dataset has no transform, and torch cannot collate PIL images",
            "add one, such as v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])",
        )
    transform = unwrapped(transform)
    steps = leaves(transform)
    own = [step for step in steps if not _package(step)]
    if own:
        raise NotTranslated(*[_of_user(step) for step in own])
    convert = from_timm if any(_package(step) == "timm" for step in steps) else from_torchvision
    try:
        return convert(transform)
    except ValueError as error:
        what, _, fix = str(error).partition("; fix: ")
        raise not_translated(what, fix or "change the list (docs/transforms.md)") from None


def is_fixed(transforms: list[Transform]) -> bool:
    """Returns whether no transform is random. In that case, the engine and torch must produce the same pixels."""
    return all(_is_fixed(transform) for transform in transforms)


def _is_fixed(transform: Any) -> bool:
    if type(transform).__name__ == "ResizeKeepRatio":  # fixed in timm's recipes for evaluation
        return bool(transform.random_scale_prob == transform.random_aspect_prob == 0)
    return type(transform).__name__ in _FIXED


def _of_user(step: Any) -> Reason:
    function = getattr(step, "lambd", step)
    name = getattr(function, "__name__", type(function).__name__)
    what, instead = f"the transform {name} is Python", instead_of("Lambda")
    try:
        held_by(step, _is_known)
    except Unclear as unclear:
        what = f"{what}: {unclear}"
        instead = f"pass the transform that it calls, or: {instead}"
    return Reason(what, instead, where_defined(function))


def unwrapped(transform: Any) -> Any:
    """Returns the transform without the functions and classes that only call one transform, also inside lists."""
    if not _is_known(transform):
        try:
            held = held_by(transform, _is_known)
        except Unclear:  # _of_user() reports it
            return transform
        return transform if held is transform else unwrapped(held)
    kind = type(transform).__name__
    if kind not in ("Compose", "Sequential") or (kind == "Sequential" and modification(transform)):
        return transform
    steps = list(transform.transforms if kind == "Compose" else transform)
    inner = [unwrapped(step) for step in steps]
    if all(new is old for new, old in zip(inner, steps, strict=True)):
        return transform
    if kind == "Sequential":  # may only hold modules
        from torchvision.transforms import Compose

        return Compose(inner)
    out = copy.copy(transform)
    out.transforms = inner
    return out


def leaves(transform: Any) -> list[Any]:
    """Returns a flat list of the transforms in nested lists. A list class of the user counts as one transform."""
    held = transform if isinstance(transform, list | tuple) else None
    if _package(transform) == "torch":  # Sequential, ModuleList
        held = list(transform)
    elif _package(transform):
        held = getattr(transform, "transforms", None)
    if held is None:
        return [transform]
    return [leaf for inner in held for leaf in leaves(inner)]


def _package(step: Any) -> str:
    """Returns the library that a transform comes from, or an empty string for user code and Lambda."""
    module = type(step).__module__
    if type(step).__name__ == "Lambda":
        return ""
    if module.startswith("torch.nn.modules.container"):
        return "torch"
    name = module.split(".")[0]
    return name if name in ("torchvision", "timm") else ""


def _is_known(step: Any) -> bool:
    return isinstance(step, list | tuple) or bool(_package(step))


def described(transforms: list[Transform]) -> str:
    """Describes the transforms with their non-default arguments."""
    out = []
    for transform in transforms:
        given = [(f.name, getattr(transform, f.name), f.default) for f in fields(transform)]
        arguments = [f"{name}={value!r}" for name, value, default in given if value != default]
        out.append(f"{type(transform).__name__}({', '.join(arguments)})")
    return ", ".join(out) or "none"
