"""T.Resize(draft=True) gives the pixels of Pillow's Image.draft followed by resize."""

from pathlib import Path

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.program import needs_program
from tests.helpers.program import tundish as program

SIZES = [(400, 300), (401, 303), (300, 400), (97, 350), (64, 64), (33, 20)]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("draft")
    (root / "x").mkdir()
    rng = np.random.default_rng(3)
    for number, (width, height) in enumerate(SIZES):
        y, x = np.mgrid[0:height, 0:width]
        waves = np.stack([127 + 90 * np.sin(x / (9 + c)) * np.cos(y / 7) for c in range(3)], -1)
        noisy = np.clip(waves + rng.normal(0, 9, waves.shape), 0, 255).astype(np.uint8)
        image = Image.fromarray(noisy)
        for sampling in ("4:4:4", "4:2:2", "4:2:0"):
            name = f"{number}-{sampling.replace(':', '')}"
            image.save(root / "x" / f"{name}.jpg", subsampling=sampling, quality=90)
        image.save(root / "x" / f"{number}-p.jpg", progressive=True)
        image.convert("L").save(root / "x" / f"{number}-gray.jpg")
        image.convert("CMYK").save(root / "x" / f"{number}-inks.jpg")
        image.save(root / "x" / f"{number}-png.png")
    return root


def target(size: tuple[int, int], wanted: object) -> tuple[int, int]:
    """Returns the (width, height) of Resize's result for an image of `size`."""
    if isinstance(wanted, tuple):
        return wanted[1], wanted[0]
    short, long = sorted(size)
    longer = int(wanted * long / short)
    return (wanted, longer) if size[0] <= size[1] else (longer, wanted)


def by_pillow(file: Path, wanted: object) -> tuple[np.ndarray, int]:
    """Returns Pillow's pixels and the reduction factor of draft."""
    with Image.open(file) as image:
        width = image.size[0]
        size = target(image.size, wanted)
        image.draft("RGB", size)
        reduced = image.convert("RGB")
        return np.asarray(reduced.resize(size, Image.Resampling.BILINEAR)), round(
            width / reduced.size[0]
        )


@pytest.mark.parametrize("wanted", [(30, 40), 50, (100, 160), 224])
def test_the_pixels_equal_pillows_draft(photos: Path, wanted: object) -> None:
    files = sorted((photos / "x").iterdir())
    loader = tundish.Loader(
        photos,
        1,
        transforms=[T.Resize(wanted, draft=True)],
        shuffle=False,
        threads=1,
        return_index=True,
        images_as="list",
    )
    reductions = set()
    for images, _, index in loader:
        file = files[int(index[0])]
        expected, reduction = by_pillow(file, wanted)
        reductions.add(reduction)
        found = np.asarray(images[0]).transpose(1, 2, 0)
        np.testing.assert_array_equal(found, expected, err_msg=file.name)
    assert reductions >= ({1, 2, 4, 8} if wanted == (30, 40) else {1})


def test_a_crop_after_the_resize_is_that_of_the_whole(photos: Path) -> None:
    both = [
        tundish.Loader(photos, 8, transforms=list(steps), shuffle=False, threads=1)
        for steps in (
            [T.Resize((60, 60), draft=True), T.CenterCrop(31), T.RandomHorizontalFlip(1.0)],
            [T.Resize((60, 60), draft=True)],
        )
    ]
    for (cropped, *_), (whole, *_) in zip(*both, strict=True):
        window = np.asarray(whole)[:, :, 14:45, 14:45][..., ::-1]
        np.testing.assert_array_equal(np.asarray(cropped), window)


@pytest.mark.parametrize(
    ("steps", "options", "reason"),
    [
        ([T.CenterCrop(9), T.Resize(8, draft=True)], {}, "must come first"),
        ([T.RandomApply([T.Resize(8, draft=True)])], {}, "must come first"),
        ([T.Resize(8, draft=True)], {"cache": "decoded", "memory": "1GiB"}, "cache="),
    ],
)
def test_unsupported_uses_of_draft_are_refused_with_the_reason(
    photos, steps, options, reason
) -> None:
    with pytest.raises((tundish.Error, ValueError), match=reason):
        tundish.Loader(photos, 1, transforms=steps, **options)


@needs_program
def test_lanes_are_refused_and_kept_jpegs_are_not(photos: Path, tmp_path: Path) -> None:
    lanes, kept = tmp_path / "lanes.tnd", tmp_path / "kept.tnd"
    program("pack", photos, "-o", lanes, check=True)
    program("pack", photos, "-o", kept, "--codec", "keep", check=True)
    steps = [T.Resize((30, 40), draft=True)]
    with pytest.raises(tundish.Error, match=r"draft=True needs plain JPEGs.*--codec keep"):
        tundish.Loader(lanes, 4, transforms=steps)
    direct = tundish.Loader(photos, 4, transforms=steps, shuffle=False, threads=1)
    packed = tundish.Loader(kept, 4, transforms=steps, shuffle=False, threads=1)
    for (a, *_), (b, *_) in zip(direct, packed, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_a_plan_says_by_how_much_an_image_is_reduced(photos: Path) -> None:
    loader = tundish.Loader(
        photos, 1, transforms=[T.Resize((30, 40), draft=True)], shuffle=False, threads=1
    )
    before = loader.state_dict()
    images, *_ = next(iter(loader))
    replayed = loader.replay(before)
    assert replayed.plans[0]["reduction"] == 8
    assert replayed.plans[0]["image"] == [50, 38]
    np.testing.assert_array_equal(np.asarray(replayed.batch[0]), np.asarray(images))
