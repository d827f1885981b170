"""Every transform through the loader, against Pillow 12.3, NumPy and torch: bitwise equal."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.draws import Random, random_crop_corner, random_resized_window
from tests.helpers.program import ROOT
from tests.helpers.torchvision_child import ask_torchvision
from tests.helpers.warm_python import run_warm

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}

# Width and height of the samples, in order. The last image is over 100 times as high as wide, and
# Pillow resizes such images in another order.
SIZES = [(500, 375), (375, 500), (224, 224), (37, 81), (1200, 160), (5, 3), (1, 1), (2, 268)]


def picture(number: int) -> np.ndarray:
    """Returns noise; every second picture is black and white, so that bicubic sums leave 0..255."""
    width, height = SIZES[number]
    levels = np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)
    return np.where(levels > 127, np.uint8(255), np.uint8(0)) if number % 2 else levels


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    (root / "class").mkdir()
    for number in range(len(SIZES)):
        Image.fromarray(picture(number)).save(root / "class" / f"{number}.png")
    return root


def loaded(
    root: Path, transforms: Sequence[T.Transform], seed: int = 0, **more: object
) -> list[np.ndarray]:
    """Returns the samples in order, each (height, width, 3)."""
    loader = tundish.Loader(
        root,
        1,
        transforms=transforms,
        seed=seed,
        threads=1,
        backend="numpy",
        on_error="fail",
        **more,
    )
    samples = [images[0].transpose(1, 2, 0) for images, _ in loader]
    assert len(samples) == len(loader.dataset) > 0
    return samples


def resized(image: np.ndarray, width: int, height: int, interpolation: str) -> np.ndarray:
    return np.asarray(Image.fromarray(image).resize((width, height), FILTERS[interpolation]))


# --- sizes and positions, as torchvision computes them
# ---------------------------------------------


def shorter_side(
    width: int, height: int, size: int, max_size: int | None = None
) -> tuple[int, int]:
    short, long = min(width, height), max(width, height)
    new_short, new_long = size, int(size * long / short)
    if max_size is not None and new_long > max_size:
        # torchvision computes 0 for thin images here and fails
        new_short, new_long = max(1, int(max_size * new_short / new_long)), max_size
    return (new_short, new_long) if width <= height else (new_long, new_short)


def center_cropped(image: np.ndarray, width: int, height: int) -> np.ndarray:
    pads = [
        ((want - have) // 2, (want - have + 1) // 2) if want > have else (0, 0)
        for want, have in ((height, image.shape[0]), (width, image.shape[1]))
    ]
    image = np.pad(image, [*pads, (0, 0)])
    top = round((image.shape[0] - height) / 2)
    left = round((image.shape[1] - width) / 2)
    return image[top : top + height, left : left + width]


# --- the tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("interpolation", FILTERS)
@pytest.mark.parametrize("size", [(224, 224), (300, 7), (1, 64), (81, 37), (500, 500)])
def test_resize_equals_pillow(pictures: Path, size: tuple[int, int], interpolation: str) -> None:
    height, width = size
    images = loaded(pictures, [T.Resize(size, interpolation=interpolation)])
    assert len(images) == len(SIZES)
    for number, image in enumerate(images):
        expected = resized(picture(number), width, height, interpolation)
        np.testing.assert_array_equal(image, expected, err_msg=f"{SIZES[number]}")


@pytest.mark.parametrize("max_size", [None, 70, 300])
def test_resize_of_the_shorter_side_equals_pillow(pictures: Path, max_size: int | None) -> None:
    images = loaded(pictures, [T.Resize(64, max_size=max_size)])
    for number, image in enumerate(images):
        width, height = shorter_side(*SIZES[number], 64, max_size)
        expected = resized(picture(number), width, height, "bilinear")
        np.testing.assert_array_equal(image, expected, err_msg=f"{SIZES[number]}")


def test_center_crop_cuts_and_pads_like_torchvision(pictures: Path) -> None:
    for height, width in ((224, 224), (31, 400), (100, 3)):
        for number, image in enumerate(loaded(pictures, [T.CenterCrop((height, width))])):
            expected = center_cropped(picture(number), width, height)
            np.testing.assert_array_equal(image, expected, err_msg=f"{SIZES[number]}")


@pytest.mark.parametrize("interpolation", FILTERS)
def test_resize_then_center_crop_equals_pillow(pictures: Path, interpolation: str) -> None:
    transforms = [T.Resize(256, interpolation=interpolation), T.CenterCrop(224)]
    for number, image in enumerate(loaded(pictures, transforms)):
        whole = resized(picture(number), *shorter_side(*SIZES[number], 256), interpolation)
        np.testing.assert_array_equal(image, center_cropped(whole, 224, 224))


@pytest.mark.parametrize("interpolation", FILTERS)
def test_random_resized_crop_equals_pillow(pictures: Path, interpolation: str) -> None:
    for seed, scale, ratio in (
        (1, (0.08, 1.0), (3 / 4, 4 / 3)),
        (2, (0.01, 0.2), (0.2, 5.0)),
        (3, (0.9, 1.0), (1.0, 1.0)),
    ):
        op = T.RandomResizedCrop((64, 96), scale, ratio, interpolation)
        loader = tundish.Loader(pictures, 1, transforms=[op], seed=seed, backend="numpy")
        assert len(loader) == len(SIZES)
        for epoch in range(3):
            for number, (images, _) in zip(range(len(SIZES)), loader, strict=True):
                random = Random(seed, epoch, number, "RandomResizedCrop")
                x, y, w, h = random_resized_window(random, *SIZES[number], scale, ratio)
                cut = picture(number)[y : y + h, x : x + w]
                expected = resized(cut, 96, 64, interpolation)
                np.testing.assert_array_equal(images[0].transpose(1, 2, 0), expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_random_crop_pads_like_numpy(pictures: Path, mode: str) -> None:
    fill = (9, 80, 255)
    op = T.RandomCrop(
        (40, 30), padding=(5, 1, 2, 7), pad_if_needed=True, fill=fill, padding_mode=mode
    )
    for number, image in enumerate(loaded(pictures, [op], seed=8)):
        left, top, right, bottom = 5, 1, 2, 7
        width, height = SIZES[number]
        missing_y = max(0, 40 - (height + top + bottom))
        missing_x = max(0, 30 - (width + left + right))
        pads = [(top + missing_y, bottom + missing_y), (left + missing_x, right + missing_x)]
        padded = np.stack(
            [
                np.pad(
                    picture(number)[..., c],
                    pads,
                    mode,
                    **({"constant_values": fill[c]} if mode == "constant" else {}),
                )
                for c in range(3)
            ],
            -1,
        )
        x, y = random_crop_corner(Random(8, 0, number, "RandomCrop"), padded.shape[1::-1], (30, 40))
        np.testing.assert_array_equal(
            image, padded[y : y + 40, x : x + 30], err_msg=f"{SIZES[number]}"
        )


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pad_equals_numpy(pictures: Path, mode: str) -> None:
    fill = (9, 80, 255)
    op = T.Pad((5, 1, 2, 7), fill=fill, padding_mode=mode)
    for number, image in enumerate(loaded(pictures, [op], seed=8)):
        values = {"constant_values": 0} if mode == "constant" else {}
        expected = np.pad(picture(number), [(1, 7), (5, 2), (0, 0)], mode, **values)
        if mode == "constant":
            inside = np.zeros(expected.shape[:2], bool)
            inside[1:-7, 5:-2] = True
            expected[~inside] = fill
        np.testing.assert_array_equal(image, expected, err_msg=f"{SIZES[number]}")


def test_flips_before_and_after_a_resize_equal_pillow(pictures: Path) -> None:
    left_right, top_bottom = T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)
    resize = T.Resize((50, 61), interpolation="bicubic")
    before = loaded(pictures, [left_right, top_bottom, resize])
    after = loaded(pictures, [resize, left_right, top_bottom])
    alone = loaded(pictures, [left_right])
    for number in range(len(SIZES)):
        image = picture(number)
        np.testing.assert_array_equal(before[number], resized(image[::-1, ::-1], 61, 50, "bicubic"))
        np.testing.assert_array_equal(after[number], resized(image, 61, 50, "bicubic")[::-1, ::-1])
        np.testing.assert_array_equal(alone[number], image[:, ::-1])


def test_flips_follow_their_stream(pictures: Path) -> None:
    transforms = [T.RandomHorizontalFlip(0.5), T.RandomVerticalFlip(0.25)]
    for seed in range(5):
        for number, image in enumerate(loaded(pictures, transforms, seed=seed)):
            expected = picture(number)
            if Random(seed, 0, number, "RandomHorizontalFlip").uniform() < 0.5:
                expected = expected[:, ::-1]
            if Random(seed, 0, number, "RandomVerticalFlip").uniform() < 0.25:
                expected = expected[::-1]
            np.testing.assert_array_equal(image, expected)


def test_a_long_chain_equals_one_operation_after_the_other(pictures: Path) -> None:
    transforms = [
        T.RandomCrop(90, pad_if_needed=True, padding_mode="reflect"),
        T.Resize((70, 100)),
        T.CenterCrop((60, 120)),
        T.RandomVerticalFlip(1.0),
        T.Resize((33, 44), interpolation="bicubic"),
    ]
    for number, image in enumerate(loaded(pictures, transforms, seed=4)):
        width, height = SIZES[number]
        y_pad, x_pad = max(0, 90 - height), max(0, 90 - width)
        step = np.pad(picture(number), [(y_pad, y_pad), (x_pad, x_pad), (0, 0)], "reflect")
        x, y = random_crop_corner(Random(4, 0, number, "RandomCrop"), step.shape[1::-1], (90, 90))
        step = resized(step[y : y + 90, x : x + 90], 100, 70, "bilinear")
        step = center_cropped(step, 120, 60)[::-1]
        np.testing.assert_array_equal(image, resized(step, 44, 33, "bicubic"))


# --- values ------------------------------------------------------------------------------------------

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns one image with every level in every channel."""
    root = tmp_path_factory.mktemp("levels")
    (root / "class").mkdir()
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(np.stack([ramp, ramp[::-1], ramp.T], -1)).save(root / "class" / "ramp.png")
    return root


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_values_are_bitwise_equal_to_torch(levels: Path, dtype: str, memory_format: str) -> None:
    with Image.open(levels / "class" / "ramp.png") as ramp:
        pixels = torch.from_numpy(np.array(ramp)).permute(2, 0, 1)

    def values(*transforms: T.Transform) -> object:
        loader = tundish.Loader(levels, transforms=transforms, memory_format=memory_format)
        images, _ = next(iter(loader))
        return images[0]

    def same(ours: object, theirs: object) -> bool:
        whole = torch.int32 if dtype == "float32" else torch.int16
        theirs = theirs.to(getattr(torch, dtype))
        return ours.dtype == theirs.dtype and torch.equal(
            ours.contiguous().view(whole), theirs.contiguous().view(whole)
        )

    # torchvision v2: to_dtype multiplies by 1/255, normalize subtracts, then divides.
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    scaled = pixels.to(torch.float32).mul_(1.0 / 255)
    normalized = scaled.sub(mean).div_(std)
    last = T.ToDtype(dtype)
    assert same(values(T.ToDtype("float32", scale=True), last), scaled)
    assert same(values(last), pixels.to(torch.float32))
    assert same(values(T.ToDtype("float32", scale=True), T.Normalize(), last), normalized)
    assert same(values(T.Normalize(MEAN, STD), last), normalized)
    odd = ((7.5, -3.0, 1e-3), (0.1, 3.0, 1e3))
    mean, std = torch.tensor(odd[0]).view(3, 1, 1), torch.tensor(odd[1]).view(3, 1, 1)
    raw = pixels.to(torch.float32).sub(mean).div_(std)
    assert same(values(T.ToDtype("float32"), T.Normalize(*odd), last), raw)


# --- torchvision itself ------------------------------------------------------------------------------

# The list is parsed both as torchvision's transforms and as ours: names and arguments are equal.
CHAINS = """
[
    [Resize(64)],
    [Resize(64, max_size=300)],
    [Resize((50, 61), interpolation=BICUBIC)],
    [Resize(size=[30, 20], interpolation=NEAREST)],
    [CenterCrop(224)],
    [CenterCrop((31, 400))],
    [Resize(256), CenterCrop(224)],
    [RandomHorizontalFlip(p=1.0), Resize((40, 33)), RandomVerticalFlip(1.0)],
    [Resize((16, 16)), ToDtype(torch.float32, scale=True), Normalize((0.1, 0.2, 0.3), (0.9, 0.8, 0.7))],
    [Resize((16, 16)), ToDtype(torch.float32), Normalize((9.0, 8.0, 7.0), (0.3, 0.2, 0.1))],
    [Resize((16, 16)), ToDtype(torch.float32, scale=True), ToDtype(torch.float16)],
]
"""

TORCHVISION = """
from pathlib import Path
import numpy as np
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import *
NEAREST, BICUBIC = InterpolationMode.NEAREST, InterpolationMode.BICUBIC
results = {}
for number, chain in enumerate(eval(sys.argv[3])):
    for file in sorted(Path(sys.argv[1]).glob("*/*")):
        image = Image.open(file)
        for step in chain:
            if isinstance(step, ToDtype) and isinstance(image, Image.Image):
                image = PILToTensor()(image)
            image = step(image)
        array = np.asarray(image) if isinstance(image, Image.Image) else image.permute(1, 2, 0).numpy()
        results[f"{number} {file.stem}"] = array
np.savez(sys.argv[2], **results)
"""


def test_deterministic_transforms_equal_torchvision_on_pillow_images(
    pictures: Path, tmp_path: Path
) -> None:
    ask_torchvision(TORCHVISION, pictures, tmp_path / "a.npz", CHAINS)
    names = {name: getattr(T, name) for name in T.__all__}
    chains = eval(CHAINS, {**names, "torch": torch, "NEAREST": "nearest", "BICUBIC": "bicubic"})
    with np.load(tmp_path / "a.npz") as expected:
        for number, chain in enumerate(chains):
            for sample, image in enumerate(loaded(pictures, chain)):
                theirs = expected[f"{number} {sample}"]
                assert image.dtype == theirs.dtype
                np.testing.assert_array_equal(image, theirs, err_msg=f"{chain} {SIZES[sample]}")


# --- instruction sets --------------------------------------------------------------------------------

EVERYTHING = [
    [T.RandomResizedCrop(n, interpolation=how), T.RandomHorizontalFlip()]
    for n in (7, 64, 224)
    for how in FILTERS
] + [
    [T.RandomHorizontalFlip(), T.Resize((40, 50)), T.CenterCrop((44, 30))],
    [T.CenterCrop(33), T.RandomHorizontalFlip(), T.RandomVerticalFlip()],
    [T.Resize((30, 41)), T.Normalize(), T.ToDtype("float16")],
]


def digest_of_everything(root: Path) -> str:
    digest = hashlib.sha256()
    for memory_format in ("channels_last", "contiguous"):
        for transforms in EVERYTHING:
            for image in loaded(root, transforms, seed=5, memory_format=memory_format):
                digest.update(image.tobytes())
    return digest.hexdigest()


def test_every_instruction_set_gives_the_same_bytes(pictures: Path) -> None:
    expected = digest_of_everything(pictures)
    for cpu in ("scalar", "sse", "avx2", "avx512"):
        result = run_warm(
            "-m",
            "tests.pixels.test_transforms_pillow",
            pictures,
            cwd=ROOT,
            env={**os.environ, "TUNDISH_CPU": cpu},
        )
        assert result.stdout.strip() == expected, cpu


if __name__ == "__main__":
    print(digest_of_everything(Path(sys.argv[1])))
