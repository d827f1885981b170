"""torchvision v2's functions on PIL images: the reference for pixels, and what most scripts use."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, ImageFilter
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

from .elastic_numbers import random_numbers
from .turns import SIDE, Work, answer_all

BLACK = torch.zeros(3, 1, 1)


def affine(image: Any, filter: str, matrix: Any, **arguments: Any) -> Any:
    """Applies an affine transform. Ignores `matrix`, because torchvision computes the matrix itself."""
    return F.affine(image, **arguments, interpolation=InterpolationMode(filter), fill=0)


def rotate(image: Any, angle: float, filter: str, matrix: Any) -> Any:
    return F.rotate(image, angle, InterpolationMode(filter), fill=0)


def perspective(image: Any, coefficients: list[float], filter: str) -> Any:
    how = InterpolationMode(filter)
    return F.perspective(image, None, None, how, fill=0, coefficients=coefficients)


def erase(image: Any, window: list[int]) -> Any:
    x, y, width, height = window
    return F.erase(image, y, x, height, width, BLACK)


@cache
def drawn_field(key: int) -> Any:
    return torch.from_numpy(random_numbers(key, SIDE, SIDE))[:, None, None]


def elastic(image: Any, alpha: float, sigma: float, key: int) -> Any:
    """Applies ElasticTransform's displacement with the given random numbers."""
    kernel = int(8 * sigma + 1) | 1
    moved = [F.gaussian_blur(one, [kernel] * 2, [sigma] * 2) for one in drawn_field(key)]
    field = torch.cat([one * alpha / SIDE for one in moved], 1).permute(0, 2, 3, 1)
    return F.elastic(image, field, InterpolationMode.BILINEAR, fill=0)


# The same functions work on PIL images and on tensors.
OPERATIONS: dict[str, Work] = {
    "brightness": lambda image, factor: F.adjust_brightness(image, factor),
    "contrast": lambda image, factor: F.adjust_contrast(image, factor),
    "saturation": lambda image, factor: F.adjust_saturation(image, factor),
    "hue": lambda image, factor: F.adjust_hue(image, factor),
    "grayscale": lambda image: F.rgb_to_grayscale(image, 3),
    "invert": F.invert,
    "posterize": lambda image, bits: F.posterize(image, bits),
    "solarize": lambda image, threshold: F.solarize(image, threshold),
    "autocontrast": F.autocontrast,
    "equalize": F.equalize,
    "sharpness": lambda image, factor: F.adjust_sharpness(image, factor),
    "permute channels": lambda image, order: F.permute_channels(image, order),
    "rotate nearest": rotate,
    "rotate bilinear": rotate,
    "affine nearest": affine,
    "affine bilinear": affine,
    "translate nearest": affine,
    "translate bilinear": affine,
    "perspective bilinear": perspective,
    "GaussianBlur 23": lambda image, kernel, sigma: F.gaussian_blur(image, kernel, sigma),
    "elastic": elastic,
    "erase": erase,
    "JPEG 75": lambda image, quality: F.jpeg(image, quality),
}


def pillow_blur(image: Any, radius: float) -> Any:
    return image.filter(ImageFilter.GaussianBlur(radius))


ON_PIL = {
    "affine bicubic": affine,
    "PillowGaussianBlur 1": pillow_blur,
    "PillowGaussianBlur 2": pillow_blur,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    versions = {"torchvision": torchvision.__version__, "pillow": PIL.__version__}
    answer_all(OPERATIONS | ON_PIL, Image.fromarray, np.asarray, versions)
