"""Albumentations on NumPy arrays. Calls its functions directly, and OpenCV with one thread."""

from __future__ import annotations

from functools import cache
from typing import Any

import albumentations
import cv2
import numpy as np
from albumentations.augmentations.blur import functional as blurs
from albumentations.augmentations.dropout import functional as dropout
from albumentations.augmentations.geometric import functional as geometric
from albumentations.augmentations.pixel import functional as pixel

from .turns import SIDE, Work, answer_all

FILTERS = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
RANDOM = np.random.default_rng(1)


@cache
def centered(numbers: tuple[float, ...]) -> np.ndarray:
    """Converts an affine matrix from Pillow (pixel centers at .5) to OpenCV (centers at integers)."""
    square = np.append(numbers, [0, 0, 1] if len(numbers) == 6 else [1]).reshape(3, 3)
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    return np.linalg.inv(half) @ square @ half


def affine(image: Any, filter: str, matrix: list[float], **_: Any) -> Any:
    how = FILTERS[filter] | cv2.WARP_INVERSE_MAP
    return geometric.warp_affine(
        image, centered(tuple(matrix)), how, 0, cv2.BORDER_CONSTANT, (SIDE, SIDE)
    )


def perspective(image: Any, coefficients: list[float], filter: str) -> Any:
    how = FILTERS[filter] | cv2.WARP_INVERSE_MAP
    matrix = centered(tuple(coefficients))
    return geometric.perspective(image, matrix, SIDE, SIDE, 0, cv2.BORDER_CONSTANT, False, how)


def blur(image: Any, sigma: float, kernel: int = 0) -> Any:
    return pixel.separable_convolve(image, blurs.create_gaussian_kernel_1d(sigma, kernel))


def sharpen(image: Any, factor: float) -> Any:
    """Sharpens like Pillow: smooths with Pillow's kernel, then extrapolates from the smoothed image."""
    return pixel.convolve(image, sharp_kernel(factor))


@cache
def sharp_kernel(factor: float) -> np.ndarray:
    smooth = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
    middle = np.zeros((3, 3), np.float32)
    middle[1, 1] = 1
    return factor * middle + (1 - factor) * smooth


def noise(image: Any, sigma: float) -> Any:
    drawn = pixel.generate_noise(
        noise_type="gaussian",
        spatial_mode="per_pixel",
        shape=image.shape,
        params={"mean_range": (0.0, 0.0), "std_range": (sigma, sigma)},
        max_value=255,
        approximation=1.0,
        random_generator=RANDOM,
    )
    return pixel.add_noise(image, drawn)


def erase(image: Any, window: list[int]) -> Any:
    x, y, width, height = window
    return dropout.cutout(image, np.array([[x, y, x + width, y + height]]), 0, RANDOM)


OPERATIONS: dict[str, Work] = {
    "brightness": lambda image, factor: pixel.adjust_brightness_torchvision(image, factor),
    "contrast": lambda image, factor: pixel.adjust_contrast_torchvision(image, factor),
    "saturation": lambda image, factor: pixel.adjust_saturation_torchvision(image, factor),
    "hue": lambda image, factor: pixel.adjust_hue_torchvision(image, factor),
    "grayscale": lambda image: pixel.to_gray(image, 3, "weighted_average"),
    "invert": pixel.invert,
    "posterize": lambda image, bits: pixel.posterize(image, bits),
    "solarize": lambda image, threshold: pixel.solarize(image, threshold / 255),
    "autocontrast": lambda image: pixel.auto_contrast(image, 0, None, "pil"),
    "equalize": lambda image: pixel.equalize(image, mode="pil"),
    "sharpness": sharpen,
    "permute channels": lambda image, order: pixel.channel_shuffle(image, order),
    "rotate nearest": affine,
    "rotate bilinear": affine,
    "affine nearest": affine,
    "affine bilinear": affine,
    "affine bicubic": affine,
    "translate nearest": affine,
    "translate bilinear": affine,
    "perspective bilinear": perspective,
    "GaussianBlur 23": blur,
    "PillowGaussianBlur 1": lambda image, radius: blur(image, radius),
    "PillowGaussianBlur 2": lambda image, radius: blur(image, radius),
    "noise": noise,
    "erase": erase,
    "JPEG 75": lambda image, quality: pixel.image_compression(image, quality, ".jpg"),
}

if __name__ == "__main__":
    cv2.setNumThreads(0)
    versions = {"albumentations": albumentations.__version__, "opencv": cv2.__version__}
    answer_all(OPERATIONS, np.ascontiguousarray, np.ascontiguousarray, versions)
