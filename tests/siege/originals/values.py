"""Random arrays, images and names that the formats share."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
from PIL import Image

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
FLOATS = ("f2", "f4", "f8")
ALL_TYPES = ("b1", *INTEGERS, *FLOATS)
NAMES = ("alpha", "beta", "gamma", "deep/delta", "a b", "Größe", "zeta_9", "v.1", "train/aux")


def values(draw: random.Random, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns an array of random values; floats include NaN, infinities, -0 and subnormals."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(draw.getrandbits(64))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f" and draw.random() < 0.5:
        return (rng.normal(size=shape) * 10.0 ** draw.randint(-3, 4)).astype(dtype)
    if dtype.kind != "f" and draw.random() < 0.3:  # compressible
        return rng.integers(0, 3, shape).astype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    with np.errstate(invalid="ignore"):
        return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()


def swapped(draw: random.Random, dtype: Any, chance: float = 0.3) -> np.dtype:
    """Returns the type, sometimes big-endian."""
    dtype = np.dtype(dtype)
    return dtype.newbyteorder(">") if draw.random() < chance else dtype


def side(draw: random.Random, most: int = 6) -> int:
    return draw.randint(1, most)


def picture_shape(draw: random.Random) -> tuple[int, ...]:
    """Returns the shape of one image: (H, W), (H, W, C) or (C, H, W), never ambiguous."""
    height, width = draw.choice((2, 5, 6, 7, 9)), draw.choice((2, 5, 6, 7, 8))
    channels = draw.choice((1, 3, 4))
    return draw.choice(((height, width), (height, width, channels), (channels, height, width)))


def is_picture(array: np.ndarray) -> bool:
    """Returns whether the samples of an array have the type and shape of an image."""
    sample = array.shape[1:]
    if array.dtype.newbyteorder("=") == np.uint16:
        return len(sample) == 2
    if array.dtype != np.uint8:
        return False
    return len(sample) == 2 or (
        len(sample) == 3 and (sample[0] in (1, 3, 4) or sample[2] in (1, 3, 4))
    )


def as_rgb(pixels: np.ndarray) -> np.ndarray:
    """Returns one image as uint8 (3, H, W), as Pillow's convert("RGB") does."""
    if pixels.ndim == 2:
        return np.stack([pixels] * 3)
    if pixels.shape[2] in (1, 3, 4):  # (H, W, C)
        pixels = pixels.transpose(2, 0, 1)
    return np.concatenate([pixels] * 3) if len(pixels) == 1 else pixels[:3]


def labels(draw: random.Random, count: int, dtype: Any = None) -> np.ndarray:
    dtype = np.dtype(dtype or draw.choice(INTEGERS))
    most = draw.choice((2, 10, 120))
    return np.array([draw.randrange(most) for _ in range(count)], dtype).reshape(count)


def plain_array(draw: random.Random, count: int, types: tuple[str, ...] = ALL_TYPES) -> np.ndarray:
    """Returns an array of `count` samples that cannot be an image."""
    while True:
        shape = tuple(side(draw) for _ in range(draw.choice((0, 0, 1, 1, 2, 3, 4))))
        array = values(draw, draw.choice(types), (count, *shape))
        if not is_picture(array):
            return array


def columns(draw: random.Random, types: tuple[str, ...] = ALL_TYPES) -> dict[str, np.ndarray]:
    """Returns arrays of one length in random order: optionally an image and a label, and others."""
    count = draw.choice((1, 2, 3, 5, 8, 13))
    found: dict[str, np.ndarray] = {}
    if draw.random() < 0.6:
        shape = (count, *picture_shape(draw))
        wide = "u2" in types and len(shape) == 3 and draw.random() < 0.2
        found["image"] = values(draw, "u2" if wide else "u1", shape)
    if draw.random() < 0.6:
        whole = [one for one in types if one in INTEGERS]
        found["label"] = labels(draw, count, draw.choice(whole))
    for name in draw.sample(NAMES, draw.randint(0 if "image" in found else 1, 3)):
        found[name] = plain_array(draw, count, types)
    if all(one[:1].size == 1 for name, one in found.items() if name != "image"):
        found["omega"] = values(draw, draw.choice(types), (count, 2, 2, 2, 2))
    mixed = list(found.items())
    draw.shuffle(mixed)
    return dict(mixed)


def loader_options(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Returns the options of a Loader that reads these arrays."""
    image = arrays.get("image")
    return {"mode": "I;16"} if image is not None and image.dtype.itemsize == 2 else {}


def expected(arrays: dict[str, np.ndarray], numbers: bool = True) -> dict[str, Any]:
    """Returns Tundish's documented result: images as RGB, labels as int64.

    With `numbers`, one element per sample becomes a double.
    """
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        native = array.astype(array.dtype.newbyteorder("="))
        if name == "image" and native.dtype == np.uint16:
            found[name] = native[:, None]  # mode="I;16"
        elif name == "image":
            found[name] = [as_rgb(pixels) for pixels in native]
        elif name == "label":
            found[name] = native.reshape(len(native)).astype(np.int64)
        elif numbers and int(np.prod(native.shape[1:], dtype=np.int64)) == 1:
            found[name] = native.reshape(len(native)).astype(np.float64)
        else:
            found[name] = native
    return found


def png(draw: random.Random, size: int | None = None) -> tuple[bytes, np.ndarray]:
    """Returns a small PNG and its pixels (3, H, W)."""
    shape = (size or side(draw, 7), size or side(draw, 7), 3)
    pixels = np.frombuffer(draw.randbytes(int(np.prod(shape))), np.uint8).reshape(shape)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue(), pixels.transpose(2, 0, 1)
