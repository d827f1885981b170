"""A list of torchvision's transforms as one of Tundish: the same pixels, or an error that says why not.

Tundish works as torchvision does on PIL images. What comes after ToTensor works on a tensor in torchvision, and
many operations give other pixels there. So the translation follows what the image is at each place of the list.
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
    Place,
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
# The same on a tensor of levels as on a PIL image.
_SAME_ON_LEVELS = {"RandomInvert", "RandomPosterize", "RandomSolarize", "RandomChannelPermutation"}
_SAME_ON_LEVELS |= {"GaussianBlur", "GaussianNoise", "RandomErasing", "CenterCrop"}
# torchvision makes tensors of PIL images for these two.
_SAME_ON_LEVELS |= {"ElasticTransform", "AugMix"}
_SAME_ON_LEVELS |= _FLIPS | _PADDING
_FLOATS = ("float32", "float16", "bfloat16")

# Where a transform may be in the list of Tundish: before ToDtype and Normalize, or after them.
_BEFORE, _AFTER = "before", "after"
_SIZES = ((8192, 8192), (64, 64))  # of images that a translated transform is tried on


def from_torchvision(transforms: Any) -> list[Transform]:
    """The transforms of this module that do what torchvision's do to PIL images.

    transforms: a Compose, a list or one transform, of torchvision.transforms or torchvision.transforms.v2.
    Raises ValueError when one of them has no translation with the same pixels; the message names it, the
    reason, and what to do.
    """
    walk = _Walk()
    if not isinstance(transforms, list | tuple):
        _unmodified(Place("transforms", transforms))
    children = transforms if isinstance(transforms, list | tuple) else _children(transforms)
    walk.all([transforms] if children is None else children, "transforms")
    out = walk.before + walk.values + walk.after
    # What works on batches may be translated alone, to be put at the end of a list.
    floats = [_subclass("ToDtype")("float32")] if len(out) == 1 and walk.after else []
    problem = _problem_of([*floats, *out])
    if problem:
        raise ValueError(f"transforms cannot be translated: {problem}")
    return out


def _unmodified(place: Place) -> None:
    """Refuses a transform whose class and arguments do not say what it does."""
    if _name(place.theirs) and (found := modification(place.theirs)):
        why = f"{found}, and only its class and arguments are translated"
        place.refuse(why, "construct the transform anew, without changing it")


def _name(theirs: Any) -> str:
    """Of a class of torchvision, or of torch's lists of modules; empty for others."""
    module = type(theirs).__module__
    known = module.startswith(("torchvision.transforms.", "torch.nn.modules.container"))
    return type(theirs).__name__ if known else ""


def _children(theirs: Any) -> list[Any] | None:
    if _name(theirs) == "Compose":
        return list(theirs.transforms)
    return list(theirs) if _name(theirs) in _LISTS else None


def _problem_of(transforms: list[Transform]) -> str:
    """What the engine says against this list; empty when there is an image that it takes."""
    problem = ""
    for size in _SIZES:
        try:
            plan(transforms, size)
        except (ValueError, TypeError) as error:
            said = re.search("why: (.*)", str(error))  # the engine's reason, without its code
            problem = problem or (said[1] if said else str(error))
        else:
            return ""
    return problem


@dataclass
class _Walk:
    """Follows torchvision's list, and collects the transforms of Tundish."""

    image: ImageState = field(default_factory=ImageState)
    inside: str = ""  # the container whose list this is
    before: list[Transform] = field(default_factory=list)
    values: list[Transform] = field(default_factory=list)  # ToDtype and Normalize
    after: list[Transform] = field(default_factory=list)  # once elements were erased

    def all(self, steps: Iterable[Any], path: str) -> None:
        for number, theirs in enumerate(steps):
            self.one(Place(f"{path}[{number}]", theirs))

    def one(self, place: Place) -> None:
        name = _name(place.theirs)
        ours = {one.__name__: one for one in Transform.__subclasses__()}
        if not name:
            place.refuse("it is not a transform of torchvision", instead_of(""))
        _unmodified(place)
        children = _children(place.theirs)
        if children is not None:
            self.all(children, f"{place.path}.transforms")
        elif name in _CONVERSIONS:
            if self.inside and name not in _NOTHING:
                place.refuse(
                    f"it is inside {self.inside}, and all images of a batch are converted alike",
                    f"put it after {self.inside}",
                )
            _CONVERSIONS[name](self, place)
        elif name in _CONTAINERS:
            self.container(ours[name], place)
        elif name in ours:
            made = ours[name](**arguments(ours[name], place, self.image.kind))
            self.add(made, self.places(made, place), place)
            self.image = replace(self.image, kind=kind_after(place.theirs, self.image.kind))
        else:
            place.refuse("Tundish has no such transform", instead_of(name))

    def container(self, ours: type[Transform], place: Place) -> None:
        """Each transform it holds, or each list of them, is translated alone."""
        steps = [
            Place(f"{place.path}.transforms[{number}]", theirs)
            for number, theirs in enumerate(place.theirs.transforms)
        ]
        inside = self.image
        if ours.__name__ == "RandomOrder":  # each may come after any other
            for step in steps:
                after = self.inside_of(ours, inside, step).image.kind
                inside = replace(inside, kind=united(inside.kind, after))
        kinds = [] if ours.__name__ == "RandomChoice" and steps else [inside.kind]
        held: list[Transform] = []
        allowed = {_BEFORE, _AFTER}
        for step in steps:
            walk = self.inside_of(ours, inside, step)
            several = walk.before + walk.after
            if walk.after:
                allowed -= {_BEFORE}
            if any(type(one).__name__ not in _FLIPS for one in walk.before):
                allowed -= {_AFTER}
            if ours.__name__ == "RandomApply":
                held += several
                inside = replace(inside, kind=walk.image.kind)
            else:
                held.append(several[0] if len(several) == 1 else _together(several))
            kinds.append(walk.image.kind)
            if replace(walk.image, kind=self.image.kind) != self.image:
                self.image = replace(self.image, least_side=0)
        given = arguments(ours, place, self.image.kind)
        if ours.__name__ == "RandomApply":
            kinds = [
                kinds[0 if place.theirs.p <= 0 else -1],
                kinds[-1 if place.theirs.p >= 1 else 0],
            ]
        made = _subclass(ours.__name__)(transforms=tuple(held), **given)
        self.add(made, allowed, place)
        self.image = replace(self.image, kind=functools.reduce(united, kinds))

    def inside_of(self, ours: type[Transform], image: ImageState, step: Place) -> _Walk:
        walk = _Walk(image, ours.__name__)
        walk.one(step)
        return walk

    def add(self, ours: Transform, allowed: set[str], place: Place) -> None:
        erased = bool(self.after)
        if _BEFORE in allowed and not erased:
            self.before.append(ours)
        elif _AFTER in allowed:
            self.after.append(ours)
        else:
            place.refuse(
                "it comes after RandomErasing of a float tensor",
                f"put it before {self.image.made_by} in torchvision's list",
            )
        floats = [_subclass("ToDtype")("float32")] if _BEFORE not in allowed else []
        problem = _problem_of([*floats, ours])
        if problem:
            place.refuse(
                problem, "change that argument in the list, or write the list of Tundish by hand"
            )
        self.image = replace(self.image, least_side=least_side(ours, self.image.least_side))

    def places(self, ours: Transform, place: Place) -> set[str]:
        """Where the transform may go; refuses what has other pixels on a tensor."""
        name = type(ours).__name__
        image = self.image
        if name in _MIXES:
            getter = place.theirs._labels_getter
            if getattr(getter, "__name__", "") != "_find_labels_default_heuristic":
                place.refuse("it has a labels_getter", "leave that out: the labels are the batch's")
            return {_AFTER}
        if image.kind is PIL:
            if name == "RandomAffine" and not is_v2(place.theirs) and is_fixed_affine(ours):
                place.refuse(
                    "v1 rounds the matrix of a fixed angle, scale and shear in another way",
                    "use torchvision.transforms.v2.RandomAffine",
                )
            if name == "GaussianNoise" or (name == "RandomErasing" and not is_v2(place.theirs)):
                place.refuse("torchvision has it for tensors only", "put it after ToImage()")
            return {_BEFORE}
        if image.dtype == "uint8":
            if name in _SAME_ON_LEVELS:
                return {_BEFORE}
        elif name in _FLIPS:
            return {_BEFORE, _AFTER}
        elif name == "RandomErasing":
            return {_AFTER}
        elif self.moves_only(ours, place):
            return {_BEFORE}
        place.refuse(
            f"it comes after {image.made_by}, so torchvision applies it to a tensor, and the pixels differ from those "
            "of a PIL image",
            f"put it before {image.made_by} in torchvision's list, where Tundish has the same pixels",
        )

    def moves_only(self, ours: Any, place: Place) -> bool:
        """Whether it gives the same when it comes before ToDtype and Normalize: a crop that adds no pixel of its own."""
        name = type(ours).__name__
        if name == "CenterCrop":
            side = ours.size if isinstance(ours.size, int) else max(ours.size)
            if not self.image.normalized or side <= self.image.least_side:
                return True
            place.refuse(
                "it comes after Normalize, where a smaller image is padded with 0 of the normalized values",
                "put it before Normalize",
            )
        if name not in _PADDING:
            return False
        if name == "RandomCrop" and not ours.padding and not ours.pad_if_needed:
            return True
        black = not self.image.normalized and ours.fill in (0, (0, 0, 0), None)
        return bool(black or ours.padding_mode != "constant")

    # --- types and values --------------------------------------------------------------------------

    def nothing(self, place: Place) -> None:
        """It changes no pixel of an RGB image."""

    def to_tensor(self, place: Place) -> None:
        """ToImage and PILToTensor: levels as they are."""
        name = type(place.theirs).__name__
        if self.image.kind is PIL:
            self.image = replace(self.image, kind=TENSOR, made_by=f"{name}()")
        elif not is_v2(place.theirs):
            place.refuse("the image is a tensor already", "leave it out")
        if name == "ToImage":
            self.image = replace(self.image, kind=IMAGE)

    def to_pure_tensor(self, place: Place) -> None:
        if self.image.kind is not PIL:
            self.image = replace(self.image, kind=TENSOR)

    def to_pil(self, place: Place) -> None:
        if self.image.dtype != "uint8":
            place.refuse("it makes levels of floats again", "leave it out, with what makes floats")
        if getattr(place.theirs, "mode", None) not in (None, "RGB"):
            place.refuse(f"mode={place.theirs.mode!r}: images are RGB", "leave it out")
        self.image = replace(self.image, kind=PIL, made_by="")

    def scale_to_float(self, place: Place) -> None:
        """ToTensor."""
        if self.image.kind is not PIL:
            place.refuse("the image is a tensor already", "leave it out")
        torch = sys.modules.get("torch")
        dtype = plain(torch.get_default_dtype()) if torch else "float32"
        if dtype != "float32":
            place.refuse(
                f"torch's default type is {dtype}", "torch.set_default_dtype(torch.float32)"
            )
        self.image = replace(self.image, kind=TENSOR, made_by="ToTensor()")
        self.convert(place, "float32", True)

    def to_dtype(self, place: Place) -> None:
        """ToDtype and ConvertImageDtype."""
        if self.image.kind is PIL:
            place.refuse("it does nothing to a PIL image", "put ToImage() before it")
        dtype = place.theirs.dtype
        if isinstance(dtype, dict):
            found = self.image.kind.entry(dtype)
            if not found:
                why = f"dtype has no entry for images: for {self.image.kind.described()}"
                place.refuse(why, "give dtype=torch.float32")
            dtype = found[0]
        before = self.image.dtype
        if dtype is not None:
            self.convert(place, plain(dtype), getattr(place.theirs, "scale", True))
        if before == "uint8" != self.image.dtype:  # v1 divides
            self.image = replace(self.image, kind=kind_after(place.theirs, self.image.kind))

    def convert(self, place: Place, dtype: str, scale: bool) -> None:
        now = self.image.dtype
        if dtype == now:
            return
        if now not in ("uint8", "float32"):
            place.refuse(f"torchvision rounds to {now} first, Tundish once", f"leave out {now}")
        if dtype not in _FLOATS:
            place.refuse(f"dtype={dtype} is not offered", f"use one of {', '.join(_FLOATS)}")
        scales = bool(scale) and now == "uint8"
        self.values.append(_subclass("ToDtype")(dtype, scales))
        self.image = replace(self.image, dtype=dtype)

    def normalize(self, place: Place) -> None:
        if self.image.dtype != "float32":
            of = "a PIL image" if self.image.kind is PIL else f"{self.image.dtype} elements"
            place.refuse(
                f"it works on {of}, and Tundish normalizes float32",
                "put ToImage() and ToDtype(torch.float32, scale=True) before it",
            )
        if self.after:
            place.refuse(
                "it comes after RandomErasing",
                "put RandomErasing after it, with value=(value - mean) / std",
            )
        self.add_normalize(place)

    def add_normalize(self, place: Place) -> None:
        given = {name: three_numbers(getattr(place.theirs, name)) for name in ("mean", "std")}
        ours = _subclass("Normalize")(**given)
        problem = _problem_of([ours])
        if problem:
            place.refuse(problem, "give one number per channel")
        if self.values == [_subclass("ToDtype")("float32", True)]:
            self.values = []  # Normalize scales by itself
        self.values.append(ours)
        kind = kind_after(place.theirs, self.image.kind)
        self.image = replace(self.image, kind=kind, dtype="float32", normalized=True)

    def preset(self, place: Place) -> None:
        """ImageClassification, the transforms of torchvision's weights."""
        if self.image.kind is not PIL:
            place.refuse("its resize of a tensor has other pixels", "leave out what is before it")
        theirs = place.theirs
        given = {
            "size": theirs.resize_size,
            "interpolation": theirs.interpolation,
            "max_size": None,
        }
        for name, attributes in (("Resize", given), ("CenterCrop", {"size": theirs.crop_size})):
            ours = _subclass(name)
            alike = type(name, (), attributes)()
            made = ours(**arguments(ours, Place(place.path, alike), PIL))
            self.add(made, {_BEFORE}, place)
        self.image = replace(self.image, kind=TENSOR, made_by="ImageClassification()")
        self.convert(place, "float32", True)
        self.add_normalize(place)


_NOTHING = {"Identity", "RGB"}
_CONVERSIONS: dict[str, Callable[[_Walk, Place], None]] = {
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
    """A class of tundish.transforms, which imports this module."""
    return next(one for one in Transform.__subclasses__() if one.__name__ == name)


def _together(made: list[Transform]) -> Any:
    """Several transforms, or none, as one: what Compose is inside a container."""
    return _subclass("RandomApply")(tuple(made), 1.0)
