"""Translates a list of torchvision transforms to Tundish transforms with the same pixels, or says why it cannot.

Many torchvision operations produce different pixels on a tensor than on a PIL image. Tundish matches the PIL
image. Therefore the translation tracks the type of the image at each position of the list.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .._c.plain import plain
from .apply import plan
from .replacements import instead_of
from .torchvision_arguments import (
    IMAGE,
    PIL,
    TENSOR,
    ImageState,
    ListEntry,
    arguments,
    is_fixed_affine,
    is_v2,
    kind_after,
    least_side,
    three_numbers,
    united,
)
from .transform import Transform
from .unmodified import modification

_LISTS = {"Compose", "Sequential", "ModuleList"}
_CONTAINERS = {"RandomApply", "RandomChoice", "RandomOrder"}
_FLIPS = {"RandomHorizontalFlip", "RandomVerticalFlip"}
_PADDING = {"Pad", "RandomCrop"}
_MIXES = {"MixUp", "CutMix"}  # work on batches
# These give the same result on a uint8 tensor and on a PIL image.
_SAME_ON_LEVELS = {"RandomInvert", "RandomPosterize", "RandomSolarize", "RandomChannelPermutation"}
_SAME_ON_LEVELS |= {"GaussianBlur", "GaussianNoise", "RandomErasing", "CenterCrop"}
# For these two, torchvision itself converts a PIL image to a tensor.
_SAME_ON_LEVELS |= {"ElasticTransform", "AugMix"}
_SAME_ON_LEVELS |= _FLIPS | _PADDING
_FLOATS = ("float32", "float16", "bfloat16")

# Positions of a transform in Tundish's list: before ToDtype and Normalize, or after them.
_BEFORE, _AFTER = "before", "after"
_SIZES = ((8192, 8192), (64, 64))  # image sizes to test a translated transform on


def from_torchvision(transforms: Any) -> list[Transform]:
    """Translates torchvision transforms to Tundish transforms that give the same pixels for PIL images.

    transforms  a Compose, a list or one transform, from torchvision.transforms or torchvision.transforms.v2

    Raises ValueError, with a reason and a fix, if a transform cannot be translated to the same pixels.
    """
    walk = _Walk()
    if not isinstance(transforms, list | tuple):
        _unmodified(ListEntry("transforms", transforms))
    children = transforms if isinstance(transforms, list | tuple) else _children(transforms)
    walk.translate_all([transforms] if children is None else children, "transforms")
    out = walk.before + walk.values + walk.after
    # A batch transform, such as MixUp, may be translated alone and appended to a list later.
    floats = [_subclass("ToDtype")("float32")] if len(out) == 1 and walk.after else []
    problem = _problem_of([*floats, *out])
    if problem:
        raise ValueError(f"transforms cannot be translated: {problem}")
    return out


def _unmodified(entry: ListEntry) -> None:
    """Refuses a transform that was modified and no longer does what its class and arguments say."""
    if _name(entry.original) and (found := modification(entry.original)):
        why = f"{found}, and only its class and arguments are translated"
        entry.refuse(why, "construct a new transform and leave it unchanged")


def _name(original: Any) -> str:
    """Returns the class name of a torchvision transform or torch module list; empty for other objects."""
    module = type(original).__module__
    known = module.startswith(("torchvision.transforms.", "torch.nn.modules.container"))
    return type(original).__name__ if known else ""


def _children(original: Any) -> list[Any] | None:
    if _name(original) == "Compose":
        return list(original.transforms)
    return list(original) if _name(original) in _LISTS else None


def _problem_of(transforms: list[Transform]) -> str:
    """Returns why the engine refuses this list; empty if it accepts at least one of the test sizes."""
    problem = ""
    for size in _SIZES:
        try:
            plan(transforms, size)
        except (ValueError, TypeError) as error:
            said = re.search("why: (.*)", str(error))  # the engine's reason without its code
            problem = problem or (said[1] if said else str(error))
        else:
            return ""
    return problem


@dataclass
class _Walk:
    """Walks through torchvision's list and collects Tundish's transforms."""

    image: ImageState = field(default_factory=ImageState)
    inside: str = ""  # description of the container that holds this list, if any
    before: list[Transform] = field(default_factory=list)
    values: list[Transform] = field(default_factory=list)  # ToDtype and Normalize
    after: list[Transform] = field(default_factory=list)  # transforms after RandomErasing on floats

    def translate_all(self, steps: Iterable[Any], path: str) -> None:
        for number, original in enumerate(steps):
            self.translate(ListEntry(f"{path}[{number}]", original))

    def translate(self, entry: ListEntry) -> None:
        name = _name(entry.original)
        target = {kind.__name__: kind for kind in Transform.__subclasses__()}
        if not name:
            entry.refuse("it is not a transform of torchvision", instead_of(""))
        _unmodified(entry)
        children = _children(entry.original)
        if children is not None:
            self.translate_all(children, f"{entry.path}.transforms")
        elif name in _CONVERSIONS:
            if self.inside and name not in _NOTHING:
                entry.refuse(
                    f"it is inside {self.inside}, but all images of a batch are converted alike",
                    f"put it after {self.inside}",
                )
            _CONVERSIONS[name](self, entry)
        elif name in _CONTAINERS:
            self.translate_container(target[name], entry)
        elif name in target:
            made = target[name](**arguments(target[name], entry, self.image.kind))
            self.add(made, self.allowed_positions(made, entry), entry)
            self.image = replace(self.image, kind=kind_after(entry.original, self.image.kind))
        else:
            entry.refuse("Tundish has no such transform", instead_of(name))

    def translate_container(self, target: type[Transform], entry: ListEntry) -> None:
        """Translates each transform or list inside a container separately."""
        steps = [
            ListEntry(f"{entry.path}.transforms[{number}]", original)
            for number, original in enumerate(entry.original.transforms)
        ]
        inside = self.image
        if target.__name__ == "RandomOrder":  # each transform may follow any other
            for step in steps:
                after = self.walk_inside(target, inside, step).image.kind
                inside = replace(inside, kind=united(inside.kind, after))
        kinds = [] if target.__name__ == "RandomChoice" and steps else [inside.kind]
        held: list[Transform] = []
        allowed = {_BEFORE, _AFTER}
        for step in steps:
            walk = self.walk_inside(target, inside, step)
            several = walk.before + walk.after
            if walk.after:
                allowed -= {_BEFORE}
            if any(type(inner).__name__ not in _FLIPS for inner in walk.before):
                allowed -= {_AFTER}
            if target.__name__ == "RandomApply":
                held += several
                inside = replace(inside, kind=walk.image.kind)
            else:
                held.append(several[0] if len(several) == 1 else _combine(several))
            kinds.append(walk.image.kind)
            if replace(walk.image, kind=self.image.kind) != self.image:
                self.image = replace(self.image, least_side=0)
        given = arguments(target, entry, self.image.kind)
        if target.__name__ == "RandomApply":
            kinds = [
                kinds[0 if entry.original.p <= 0 else -1],
                kinds[-1 if entry.original.p >= 1 else 0],
            ]
        made = _subclass(target.__name__)(transforms=tuple(held), **given)
        self.add(made, allowed, entry)
        self.image = replace(self.image, kind=functools.reduce(united, kinds))

    def walk_inside(self, target: type[Transform], image: ImageState, step: ListEntry) -> _Walk:
        walk = _Walk(image, target.__name__)
        walk.translate(step)
        return walk

    def add(self, target: Transform, allowed: set[str], entry: ListEntry) -> None:
        erased = bool(self.after)
        if _BEFORE in allowed and not erased:
            self.before.append(target)
        elif _AFTER in allowed:
            self.after.append(target)
        else:
            entry.refuse(
                "it comes after RandomErasing of a float tensor",
                f"put it before {self.image.made_by} in torchvision's list",
            )
        floats = [_subclass("ToDtype")("float32")] if _BEFORE not in allowed else []
        problem = _problem_of([*floats, target])
        if problem:
            entry.refuse(
                problem, "change that argument in the list, or write the list of Tundish by hand"
            )
        self.image = replace(self.image, least_side=least_side(target, self.image.least_side))

    def allowed_positions(self, target: Transform, entry: ListEntry) -> set[str]:
        """Returns the allowed positions. Refuses a transform that gives different pixels on a tensor."""
        name = type(target).__name__
        image = self.image
        if name in _MIXES:
            getter = entry.original._labels_getter
            if getattr(getter, "__name__", "") != "_find_labels_default_heuristic":
                entry.refuse("it has a labels_getter", "leave that out: the labels are the batch's")
            return {_AFTER}
        if image.kind is PIL:
            if name == "RandomAffine" and not is_v2(entry.original) and is_fixed_affine(target):
                entry.refuse(
                    "v1 rounds the matrix of a fixed angle, scale and shear in another way",
                    "use torchvision.transforms.v2.RandomAffine",
                )
            if name == "GaussianNoise" or (name == "RandomErasing" and not is_v2(entry.original)):
                entry.refuse("torchvision supports it only for tensors", "put it after ToImage()")
            return {_BEFORE}
        if image.dtype == "uint8":
            if name in _SAME_ON_LEVELS:
                return {_BEFORE}
        elif name in _FLIPS:
            return {_BEFORE, _AFTER}
        elif name == "RandomErasing":
            return {_AFTER}
        elif self.moves_only(target, entry):
            return {_BEFORE}
        entry.refuse(
            f"it comes after {image.made_by}, so torchvision applies it to a tensor, and the pixels differ from those "
            "of a PIL image",
            f"put it before {image.made_by} in torchvision's list, where Tundish has the same pixels",
        )

    def moves_only(self, target: Any, entry: ListEntry) -> bool:
        """Returns whether a crop or padding gives the same result before ToDtype and Normalize as after."""
        name = type(target).__name__
        if name == "CenterCrop":
            side = target.size if isinstance(target.size, int) else max(target.size)
            if not self.image.normalized or side <= self.image.least_side:
                return True
            entry.refuse(
                "it comes after Normalize, where a smaller image is padded with normalized zeros",
                "put it before Normalize",
            )
        if name not in _PADDING:
            return False
        if name == "RandomCrop" and not target.padding and not target.pad_if_needed:
            return True
        black = not self.image.normalized and target.fill in (0, (0, 0, 0), None)
        return bool(black or target.padding_mode != "constant")

    # --- types and values --------------------------------------------------------------------------

    def nothing(self, entry: ListEntry) -> None:
        """Accepts a transform that changes no pixel of an RGB image."""

    def to_tensor(self, entry: ListEntry) -> None:
        """Handles ToImage and PILToTensor, which keep the pixel values."""
        name = type(entry.original).__name__
        if self.image.kind is PIL:
            self.image = replace(self.image, kind=TENSOR, made_by=f"{name}()")
        elif not is_v2(entry.original):
            entry.refuse("the image is already a tensor", "leave it out")
        if name == "ToImage":
            self.image = replace(self.image, kind=IMAGE)

    def to_pure_tensor(self, entry: ListEntry) -> None:
        if self.image.kind is not PIL:
            self.image = replace(self.image, kind=TENSOR)

    def to_pil(self, entry: ListEntry) -> None:
        if self.image.dtype != "uint8":
            entry.refuse("it converts floats to levels", "leave out both conversions")
        if getattr(entry.original, "mode", None) not in (None, "RGB"):
            entry.refuse(f"mode={entry.original.mode!r}: images are RGB", "leave it out")
        self.image = replace(self.image, kind=PIL, made_by="")

    def scale_to_float(self, entry: ListEntry) -> None:
        """Handles ToTensor."""
        if self.image.kind is not PIL:
            entry.refuse("the image is already a tensor", "leave it out")
        torch = sys.modules.get("torch")
        dtype = plain(torch.get_default_dtype()) if torch else "float32"
        if dtype != "float32":
            entry.refuse(
                f"torch's default type is {dtype}", "torch.set_default_dtype(torch.float32)"
            )
        self.image = replace(self.image, kind=TENSOR, made_by="ToTensor()")
        self.convert(entry, "float32", True)

    def to_dtype(self, entry: ListEntry) -> None:
        """Handles ToDtype and ConvertImageDtype."""
        if self.image.kind is PIL:
            entry.refuse("it has no effect on a PIL image", "put ToImage() before it")
        dtype = entry.original.dtype
        if isinstance(dtype, dict):
            found = self.image.kind.lookup(dtype)
            if not found:
                why = f"dtype has no entry for images, which are {self.image.kind.described()}"
                entry.refuse(why, "use dtype=torch.float32")
            dtype = found[0]
        before = self.image.dtype
        if dtype is not None:
            self.convert(entry, plain(dtype), getattr(entry.original, "scale", True))
        if before == "uint8" != self.image.dtype:  # v1 divides, which returns a plain tensor
            self.image = replace(self.image, kind=kind_after(entry.original, self.image.kind))

    def convert(self, entry: ListEntry, dtype: str, scale: bool) -> None:
        now = self.image.dtype
        if dtype == now:
            return
        if now not in ("uint8", "float32"):
            entry.refuse(f"torchvision rounds to {now} first, Tundish once", f"leave out {now}")
        if dtype not in _FLOATS:
            entry.refuse(f"dtype={dtype} is not supported", f"use one of {', '.join(_FLOATS)}")
        scales = bool(scale) and now == "uint8"
        self.values.append(_subclass("ToDtype")(dtype, scales))
        self.image = replace(self.image, dtype=dtype)

    def normalize(self, entry: ListEntry) -> None:
        if self.image.dtype != "float32":
            operand = "a PIL image" if self.image.kind is PIL else f"{self.image.dtype} elements"
            entry.refuse(
                f"it works on {operand}, but Tundish normalizes float32",
                "put ToImage() and ToDtype(torch.float32, scale=True) before it",
            )
        if self.after:
            entry.refuse(
                "it comes after RandomErasing",
                "put RandomErasing after it, with value=(value - mean) / std",
            )
        self.add_normalize(entry)

    def add_normalize(self, entry: ListEntry) -> None:
        given = {name: three_numbers(getattr(entry.original, name)) for name in ("mean", "std")}
        target = _subclass("Normalize")(**given)
        problem = _problem_of([target])
        if problem:
            entry.refuse(problem, "pass one number per channel")
        if self.values == [_subclass("ToDtype")("float32", True)]:
            self.values = []  # Normalize includes the scaling
        self.values.append(target)
        kind = kind_after(entry.original, self.image.kind)
        self.image = replace(self.image, kind=kind, dtype="float32", normalized=True)

    def preset(self, entry: ListEntry) -> None:
        """Handles ImageClassification, the preprocessing of torchvision's pretrained weights."""
        if self.image.kind is not PIL:
            entry.refuse("its resize gives other pixels on a tensor", "leave out what is before it")
        original = entry.original
        given = {
            "size": original.resize_size,
            "interpolation": original.interpolation,
            "max_size": None,
        }
        for name, attributes in (("Resize", given), ("CenterCrop", {"size": original.crop_size})):
            target = _subclass(name)
            alike = type(name, (), attributes)()
            made = target(**arguments(target, ListEntry(entry.path, alike), PIL))
            self.add(made, {_BEFORE}, entry)
        self.image = replace(self.image, kind=TENSOR, made_by="ImageClassification()")
        self.convert(entry, "float32", True)
        self.add_normalize(entry)


_NOTHING = {"Identity", "RGB"}
_CONVERSIONS: dict[str, Callable[[_Walk, ListEntry], None]] = {
    "Identity": _Walk.nothing,
    "RGB": _Walk.nothing,
    "ToImage": _Walk.to_tensor,
    "PILToTensor": _Walk.to_tensor,
    "ToPureTensor": _Walk.to_pure_tensor,
    "ToPILImage": _Walk.to_pil,
    "ToTensor": _Walk.scale_to_float,
    "ToDtype": _Walk.to_dtype,
    "ConvertImageDtype": _Walk.to_dtype,
    "Normalize": _Walk.normalize,
    "ImageClassification": _Walk.preset,
}


def _subclass(name: str) -> Any:
    """Returns a class of tundish.transforms, which imports this module."""
    return next(kind for kind in Transform.__subclasses__() if kind.__name__ == name)


def _combine(made: list[Transform]) -> Any:
    """Combines any number of transforms into one, as Compose does inside a container."""
    return _subclass("RandomApply")(tuple(made), 1.0)
