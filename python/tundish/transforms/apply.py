"""Applies transforms to a single image in memory, without a loader, to show their effect.

Example:

    picture = np.asarray(Image.open("a.jpg").convert("RGB"))
    T.apply([T.RandomResizedCrop(224), T.RandomSolarize(128)], picture, sample=7)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .._c.errors import last_error
from .._c.library import lib
from .._c.structs import Draw
from .transform import Transform, transforms_json


def plan(
    transforms: Sequence[Transform],
    size: tuple[int, int],
    *,
    seed: int = 0,
    epoch: int = 0,
    sample: int = 0,
    repeat: int = 0,
    view: int = 0,
    crop: int = 0,
) -> dict[str, Any]:
    """Lists the operations that a loader would apply to an image, including the random numbers it would draw.

        T.plan([T.RandomResizedCrop(224)], (375, 500), sample=7)["steps"]

    Returns a dict. `image` and `size` are the (width, height) before and after, `dtype` is the element type,
    and `steps` are the operations in order. docs/resume.md describes all keys.

    size                 (height, width) of the image
    seed, epoch, sample  determine the random numbers, as in a loader
    repeat               number of the repetition, with tundish.Repeated
    view                 number of the list of transforms, with Loader(views=...)
    crop                 number of the crop, with FiveCrop and TenCrop

    MixUp and CutMix work on batches and have no effect here.
    """
    return _plan(_text(transforms), Draw(size[1], size[0], seed, epoch, sample, repeat, view, crop))


def apply(
    transforms: Sequence[Transform],
    image: Any,
    *,
    seed: int = 0,
    epoch: int = 0,
    sample: int = 0,
    repeat: int = 0,
    view: int = 0,
    crop: int = 0,
) -> Any:
    """Applies transforms to one image: a uint8 array of shape (height, width, 3). Returns a NumPy array.

        picture = np.asarray(Image.open("a.jpg").convert("RGB"))
        T.apply([T.RandomResizedCrop(224), T.RandomSolarize(128)], picture, sample=7)

    A loader with the same seed, epoch and sample number draws the same random numbers. plan() describes
    `repeat`, `view` and `crop`.
    """
    import numpy as np

    pixels = np.ascontiguousarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(
            f"image must be a uint8 array (height, width, 3), not {pixels.dtype} {pixels.shape}: "
            'np.asarray(Image.open(file).convert("RGB"))'
        )
    text = _text(transforms)
    draw = Draw(pixels.shape[1], pixels.shape[0], seed, epoch, sample, repeat, view, crop)
    planned = _plan(text, draw)
    if planned["dtype"] == "bfloat16":
        raise ValueError("NumPy does not have bfloat16: leave out ToDtype, or use float32")
    width, height = planned["size"]
    out = np.empty((height, width, 3), planned["dtype"])
    if lib.tundish_transform(text, draw, pixels.ctypes.data, out.ctypes.data, out.nbytes) != 0:
        raise last_error()
    return out


def _text(transforms: Sequence[Transform]) -> bytes:
    return json.dumps(transforms_json(transforms)).encode()


def _plan(text: bytes, draw: Draw) -> dict[str, Any]:
    return _plans(text, draw, 1)[0]


def _plans(text: bytes, draw: Draw, count: int) -> list[dict[str, Any]]:
    """Returns the plans of `count` samples, beginning with the sample of `draw`."""
    planned = lib.tundish_plans(text, draw, count)
    if planned is None:
        raise last_error()
    out: list[dict[str, Any]] = json.loads(planned)
    return out
