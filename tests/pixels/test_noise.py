"""RandomErasing, GaussianNoise and JPEG: the pixels that plans promise, and distributions."""

import io
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tundish import transforms as T

from tests.helpers import same_pixels

PHOTO = np.random.default_rng(3).integers(0, 256, (50, 70, 3), np.uint8)
ALWAYS: dict[str, Any] = {"p": 1, "scale": (0.1, 0.3)}


def normal_below(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def assert_normal(numbers: np.ndarray) -> None:
    """Kolmogorov-Smirnov test at 0.1 % for a normal distribution."""
    ordered = np.sort(numbers.ravel().astype(float))
    below = np.array([normal_below(x) for x in ordered])
    ranks = np.arange(len(ordered) + 1) / len(ordered)
    worst = max(np.abs(below - ranks[1:]).max(), np.abs(below - ranks[:-1]).max())
    assert worst < 1.95 / math.sqrt(len(ordered))


def inside(window: list[int], shape: tuple[int, ...]) -> np.ndarray:
    x, y, width, height = window
    out = np.zeros(shape[:2], bool)
    out[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)] = True
    return out


@pytest.mark.parametrize(
    ("value", "level"), [(0, (0, 0, 0)), (7.9, (7, 7, 7)), ((1, 255, 3), (1, 255, 3))]
)
def test_erasing_on_levels_fills_the_window_of_the_plan(value: Any, level: Any) -> None:
    erase = [T.RandomErasing(value=value, **ALWAYS)]
    for sample in range(20):
        step = T.plan(erase, (50, 70), sample=sample)["steps"][1]
        expected = np.where(inside(step["window"], PHOTO.shape)[..., None], level, PHOTO)
        np.testing.assert_array_equal(T.apply(erase, PHOTO, sample=sample), expected)


def test_random_erasing_on_levels_has_torchvisions_truncated_normal_numbers() -> None:
    """torchvision casts float32 to uint8, so -1.3 becomes 255."""
    erase = [T.RandomErasing(value="random", **ALWAYS)]
    levels = []
    for sample in range(60):
        mask = inside(T.plan(erase, (50, 70), sample=sample)["steps"][1]["window"], PHOTO.shape)
        result = T.apply(erase, PHOTO, sample=sample)
        np.testing.assert_array_equal(result[~mask], PHOTO[~mask])
        levels.append(result[mask].ravel())
    counts = np.bincount(np.concatenate(levels).astype(np.int8).astype(int) + 8, minlength=17)
    assert counts.sum() > 50_000
    chi_square = 0.0
    for number in range(-3, 4):
        low, high = number + (number > 0) - 1, number + (number >= 0)
        share = normal_below(high) - normal_below(low)
        chi_square += (counts[number + 8] - share * counts.sum()) ** 2 / (share * counts.sum())
    assert chi_square < 24.3  # 7 degrees of freedom, 0.1 %


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_erasing_after_normalize_fills_elements(dtype: str) -> None:
    before = [T.Normalize(), T.ToDtype(dtype)]
    erase = [*before, T.RandomErasing(value=(0.1, -2.5, 1e4), **ALWAYS)]
    plain = T.apply(before, PHOTO)
    for sample in range(20):
        (erasure,) = T.plan(erase, (50, 70), sample=sample)["erasures"]
        fill = np.array([0.1, -2.5, 1e4], np.float32).astype(dtype)
        expected = np.where(inside(erasure["window"], PHOTO.shape)[..., None], fill, plain)
        result = T.apply(erase, PHOTO, sample=sample)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)


def test_later_transforms_move_an_erased_window() -> None:
    erase = [T.Normalize(), T.RandomErasing(value=9, **ALWAYS)]
    crop = T.RandomCrop((20, 30))
    for sample in range(20):
        erased = T.apply(erase, PHOTO, sample=sample)
        x, y, *_ = T.plan([*erase, crop], (50, 70), sample=sample)["steps"][0]["crop"]
        cut = erased[y : y + 20, x : x + 30]
        moved: list[tuple[list[T.Transform], np.ndarray]] = [
            ([T.RandomHorizontalFlip(1)], erased[:, ::-1]),
            ([T.RandomVerticalFlip(1)], erased[::-1]),
            ([crop], cut),
            ([crop, T.RandomHorizontalFlip(1)], cut[:, ::-1]),
        ]
        for more, expected in moved:
            result = T.apply([*erase, *more], PHOTO, sample=sample)
            np.testing.assert_array_equal(result, expected)


def test_random_erasing_after_normalize_gives_normal_numbers() -> None:
    erase = [T.Normalize(), T.RandomErasing(value="random", **ALWAYS)]
    numbers = []
    for sample in range(60):
        mask = inside(T.plan(erase, (50, 70), sample=sample)["erasures"][0]["window"], PHOTO.shape)
        result = T.apply(erase, PHOTO, sample=sample)
        np.testing.assert_array_equal(result[~mask], T.apply([T.Normalize()], PHOTO)[~mask])
        numbers.append(result[mask])
    drawn = np.concatenate(numbers)
    assert drawn.size > 50_000
    assert_normal(drawn)
    correlation = np.corrcoef(drawn.T)[np.triu_indices(3, 1)]  # correlation between channels
    assert np.abs(correlation).max() < 0.03


@pytest.mark.parametrize(("mean", "sigma"), [(0.0, 0.1), (0.25, 0.02), (-0.1, 0.3)])
def test_noise_equals_torchvisions_truncated_normal_numbers(mean: float, sigma: float) -> None:
    gray = np.full((300, 400, 3), 128, np.uint8)
    result = T.apply([T.GaussianNoise(mean, sigma)], gray).astype(int) - 128
    counts = np.bincount(result.ravel() + 128, minlength=256)
    chi_square, degrees = 0.0, -1
    for shift in range(-127, 127):  # 0 and 255 are clipped
        low, high = shift + (shift > 0) - 1, shift + (shift >= 0)
        share = normal_below((high / 255 - mean) / sigma) - normal_below((low / 255 - mean) / sigma)
        if share * result.size < 20:
            continue
        degrees += 1
        chi_square += (counts[shift + 128] - share * result.size) ** 2 / (share * result.size)
    assert degrees > 10
    assert chi_square < degrees + 4 * math.sqrt(2 * degrees)


def test_noise_without_clip_wraps_around() -> None:
    clipped = T.apply([T.GaussianNoise(0.5, 0.0)], PHOTO)
    wrapped = T.apply([T.GaussianNoise(0.5, 0.0, clip=False)], PHOTO)
    np.testing.assert_array_equal(clipped, np.minimum(PHOTO.astype(int) + 127, 255))
    np.testing.assert_array_equal(wrapped, PHOTO + np.uint8(127))


def pillow_jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(image).save(file, format="JPEG", quality=quality)
    return np.asarray(Image.open(file))


def test_jpeg_equals_pillow() -> None:
    for name, image in same_pixels.sample_images().items():
        for quality in (1, 10, 50, 75, 95, 100):
            result = T.apply([T.JPEG(quality)], image)
            np.testing.assert_array_equal(result, pillow_jpeg(image, quality), f"{name} {quality}")
    drawn = [T.JPEG((20, 80))]
    for sample in range(30):
        quality = int(T.plan(drawn, (50, 70), sample=sample)["steps"][1]["value"][0])
        np.testing.assert_array_equal(
            T.apply(drawn, PHOTO, sample=sample), pillow_jpeg(PHOTO, quality)
        )


@pytest.mark.parametrize(
    ("transforms", "text"),
    [
        (
            [T.RandomErasing(value=256)],
            "value must be a level from 0 to 255 before ToDtype and Norm",
        ),
        ([T.RandomErasing(value=(1, 2))], 'value must be a number, three numbers, or "random"'),
        ([T.RandomErasing(value="noise")], 'value must be a number, three numbers, or "random"'),
        ([T.RandomErasing(scale=(0.5, 0.1))], "scale must be (min, max), not (0.5, 0.1)"),
        ([T.RandomErasing(scale=(0.5, 1.1))], "scale must be two numbers from 0 to 1"),
        ([T.RandomErasing(ratio=(0, 1))], "ratio must be (min, max) of positive numbers"),
        ([T.RandomErasing(p=2)], "p must be a number from 0 to 1"),
        (
            [T.ToDtype("float32", scale=True), T.RandomErasing(), T.Normalize()],
            "RandomErasing: must come after Normalize, or before ToDtype",
        ),
        ([T.GaussianNoise(sigma=-1)], "sigma must be a number from 0 to 16"),
        (
            [T.Normalize(), T.GaussianNoise()],
            "GaussianNoise: must come before ToDtype and Normalize",
        ),
        ([T.JPEG(0)], "quality must be one whole number or two from 1 to 100, not (0, 0)"),
        ([T.JPEG((80, 20))], "quality must be (min, max), not (80, 20)"),
        ([T.JPEG(7.5)], "quality must be one whole number or two from 1 to 100, not 7.5"),
    ],
)
def test_impossible_arguments_are_refused(transforms: list[T.Transform], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        T.plan(transforms, (50, 70))
    assert text in str(caught.value)
