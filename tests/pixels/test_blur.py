"""Blurs: GaussianBlur against torchvision, PillowGaussianBlur against Pillow."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from tundish import transforms as T

from tests.helpers import same_pixels
from tests.helpers.torchvision_child import ask_torchvision

# kernel width, kernel height, sigma
KERNELS = [
    (3, 3, 0.5),
    (5, 5, 1.0),
    (23, 23, 0.1),
    (23, 23, 1.0),
    (23, 23, 2.0),
    (3, 7, 1.3),
    (9, 1, 3.0),
]
RADII = [0, 0.01, 0.1, 0.3, 0.5, 0.77, 1, 1.2, 1.41, 1.42, 1.7, 2, 2.5, 3.3, 5, 10, 31.4, 128]

_CHILD = """
import numpy as np
from PIL import Image
from torchvision.transforms.v2 import GaussianBlur
results = {}
with np.load(sys.argv[1]) as images:
    for number, (across, down, sigma) in enumerate(eval(sys.argv[3])):
        blur = GaussianBlur((across, down), sigma)
        for name in images.files:
            height, width, _ = images[name].shape
            if across // 2 < width and down // 2 < height:
                results[f"{number} {name}"] = np.asarray(blur(Image.fromarray(images[name])))
np.savez(sys.argv[2], **results)
"""


def test_gaussian_blur_equals_torchvisions_up_to_rounding_of_halves(tmp_path: Path) -> None:
    images = same_pixels.sample_images()
    images["large noise"] = np.random.default_rng(1).integers(0, 256, (300, 400, 3), np.uint8)
    np.savez(tmp_path / "images.npz", **images)
    ask_torchvision(_CHILD, tmp_path / "images.npz", tmp_path / "theirs.npz", str(KERNELS))
    compared = different = 0
    with np.load(tmp_path / "theirs.npz") as theirs:
        for key in theirs.files:
            number, name = key.split(" ", 1)
            across, down, sigma = KERNELS[int(number)]
            ours = T.apply([T.GaussianBlur((across, down), sigma)], images[name])
            difference = np.abs(ours.astype(int) - theirs[key].astype(int))
            assert difference.max() <= 1, key
            compared += difference.size
            different += int((difference > 0).sum())
    assert compared > 2_000_000
    assert different < compared * 1e-4, (different, compared)


def test_the_pillow_blur_equals_pillow() -> None:
    for name, image in same_pixels.sample_images().items():
        for radius in RADII:
            ours = T.apply([T.PillowGaussianBlur(radius, p=1)], image)
            theirs = Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius))
            np.testing.assert_array_equal(ours, np.asarray(theirs), f"{name} {radius}")


def test_the_pillow_blur_equals_pillow_for_drawn_radii() -> None:
    image = np.random.default_rng(2).integers(0, 256, (37, 61, 3), np.uint8)
    blur = [T.PillowGaussianBlur((0.1, 6.0), p=0.8)]
    blurred = 0
    for sample in range(300):
        steps = T.plan(blur, image.shape[:2], sample=sample)["steps"][1:]
        expected = Image.fromarray(image)
        for step in steps:
            assert step["op"] == "box blur"
            expected = expected.filter(ImageFilter.GaussianBlur(step["value"][0]))
        blurred += len(steps)
        np.testing.assert_array_equal(T.apply(blur, image, sample=sample), np.asarray(expected))
    assert 200 < blurred < 280


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.GaussianBlur(4), "GaussianBlur: kernel_size must be odd, not (4, 4)"),
        (T.GaussianBlur((3, 6)), "GaussianBlur: kernel_size must be odd, not (3, 6)"),
        (
            T.GaussianBlur(0),
            "kernel_size must be one whole number or two from 1 to 65535, not (0, 0)",
        ),
        (T.GaussianBlur(-3), "not (-3, -3)"),
        (T.GaussianBlur(2.5), "kernel_size must be one whole number or two"),
        (T.GaussianBlur((3, 3, 3)), "kernel_size must be one whole number or two"),
        (T.GaussianBlur(3, 0), "sigma must be (min, max) of positive numbers, not (0, 0)"),
        (T.GaussianBlur(3, (2, 1)), "sigma must be (min, max) of positive numbers, not (2, 1)"),
        (T.GaussianBlur(3, -1), "sigma must be one number or two of at least 0"),
        (
            T.GaussianBlur(21),
            "half of the kernel of 21x21 (width x height) is not smaller than the image of 30x10",
        ),
        (T.PillowGaussianBlur(-1), "radius must be one number or two from 0 to 128, not (-1, -1)"),
        (T.PillowGaussianBlur((2, 1)), "radius must be (min, max), not (2, 1)"),
    ],
)
def test_an_impossible_blur_is_refused(transform: T.Transform, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        T.plan([transform], (10, 30))
    assert text in str(caught.value)
