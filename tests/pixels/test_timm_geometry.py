"""ResizeKeepRatio, CenterCropOrPad, RandomCropOrPad, TrimBorder, TimmRandomErasing against timm."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import tundish
from tundish import transforms as T

from tests.helpers.many_plans import many_plans
from tests.helpers.torchvision_child import ask_torchvision

_PIXELS = """
import numpy as np
from PIL import Image
from timm.data.transforms import *
results = {}
with np.load(sys.argv[1]) as images:
    for number, one in enumerate(eval(sys.argv[3])):
        for name in images.files:
            results[f"{number} {name}"] = np.asarray(one(Image.fromarray(images[name])))
np.savez(sys.argv[2], **results)
"""

CASES = """[
    ResizeKeepRatio(20), ResizeKeepRatio((20, 31), 1.0, "bicubic"), ResizeKeepRatio((9, 5), 0.3),
    ResizeKeepRatio((17, 9), 0.5, "nearest"),
    CenterCropOrPad(20), CenterCropOrPad((9, 50), (1, 2, 3)), CenterCropOrPad((51, 8), 7),
    CenterCropOrPad((30, 33), 0, "reflect"), CenterCropOrPad((90, 81), 0, "reflect"), CenterCropOrPad(40, 0, "edge"),
    TrimBorder(0), TrimBorder(3),
]"""


def test_deterministic_geometry_equals_timm(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    sizes = [(16, 17), (33, 20), (21, 64), (9, 8)]
    images = {f"{h}x{w}": random.integers(0, 256, (h, w, 3)).astype(np.uint8) for h, w in sizes}
    np.savez(tmp_path / "images.npz", **images)
    ask_torchvision(_PIXELS, tmp_path / "images.npz", tmp_path / "made.npz", CASES)
    ours = eval(CASES, {name: getattr(T, name) for name in T.__all__})
    with np.load(tmp_path / "made.npz") as theirs:
        for number, one in enumerate(ours):
            for name, image in images.items():
                wanted = theirs[f"{number} {name}"]
                np.testing.assert_array_equal(T.apply([one], image), wanted, f"{one} {name}")


def test_a_border_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(tundish.ArgumentError, match="nothing is left of an image of 6x9 pixels"):
        T.plan([T.TrimBorder(3)], (9, 6))


_DRAWN = """
import json, random
import numpy as np
from PIL import Image
from timm.data.transforms import *
random.seed(1)
image = Image.fromarray(np.load(sys.argv[1]))
def images(one):
    return sorted({np.asarray(one(image)).tobytes().hex() for _ in range(3000)})
print(json.dumps([images(one) for one in eval(sys.argv[2])]))
"""


SIZES = [(7, 4), (3, 9), (8, 10), (4, 4), (5, 6)]
RANDOM_CROPS = [
    f"RandomCropOrPad({size}, {how})" for size in SIZES for how in ((1, 2, 3), "0, 'reflect'")
]


def test_a_random_crop_or_pad_gives_the_images_that_timm_gives(tmp_path: Path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    np.save(tmp_path / "image.npy", image)
    text = f"[{', '.join(RANDOM_CROPS)}]"
    theirs = json.loads(ask_torchvision(_DRAWN, tmp_path / "image.npy", text))
    for one, wanted in zip(eval(text, {"RandomCropOrPad": T.RandomCropOrPad}), theirs, strict=True):
        made = {T.apply([one], image, sample=i).tobytes().hex() for i in range(3000)}
        assert made == set(wanted), one


def assert_same_distribution(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Two-sample Kolmogorov-Smirnov test; one in a million random seeds would fail."""
    places = np.unique(np.concatenate([ours, theirs]))
    below = [np.searchsorted(np.sort(one), places, "right") / len(one) for one in (ours, theirs)]
    scale = math.sqrt(len(ours) * len(theirs) / (len(ours) + len(theirs)))
    assert np.abs(below[0] - below[1]).max() * scale < 2.7


_SIZES = """
import json, random
from PIL import Image
from timm.data.transforms import *
random.seed(2)
image = Image.new("RGB", (300, 200))
def sizes(one):
    params = (one.size, one.longest, one.random_scale_prob, one.random_scale_range, one.random_scale_area,
              one.random_aspect_prob, one.random_aspect_range)
    return [one.get_params(image, *params) for _ in range(20000)]
print(json.dumps([sizes(eval(text)) for text in sys.argv[1:]]))
"""


RESIZES = [
    "ResizeKeepRatio(150, 0.0, 'random', 0.5, (0.8, 1.0), True, 0.5, (0.9, 1 / 0.9))",
    "ResizeKeepRatio((150, 90), 0.5, 'bilinear', 1.0, (0.5, 2.0), False, 0.25, (0.5, 2.0))",
]


@pytest.fixture(scope="module")
def their_sizes() -> list[list[list[int]]]:
    """Returns height and width of many draws of each transform."""
    return json.loads(ask_torchvision(_SIZES, *RESIZES))


@pytest.mark.parametrize("number", range(len(RESIZES)))
def test_a_random_resize_draws_the_sizes_that_timm_draws(
    number: int, their_sizes: list[list[list[int]]]
) -> None:
    text, theirs = RESIZES[number], np.array(their_sizes[number])
    one = eval(text, {"ResizeKeepRatio": T.ResizeKeepRatio})
    plans = list(many_plans([one], (200, 300), 20_000))
    ours = np.array([plan["size"][::-1] for plan in plans])
    for a, b in ((ours, theirs), (ours[:, ::-1], theirs[:, ::-1])):
        assert_same_distribution(a[:, 0], b[:, 0])
    assert_same_distribution(ours[:, 0] / ours[:, 1], theirs[:, 0] / theirs[:, 1])
    filters = [plan["steps"][0]["filter"] for plan in plans if plan["size"] != [300, 200]]
    share = filters.count("bicubic") / len(filters)
    assert abs(share - (0.5 if "random" in text else 0.0)) < 0.03


_ERASED = """
import random
import numpy as np
from timm.data.random_erasing import RandomErasing
random.seed(3)
def masks(arguments):
    one = RandomErasing(**arguments, device="cpu")
    return np.stack([one(torch.ones(3, 31, 40))[0].numpy() != 1 for _ in range(8000)])
np.save(sys.argv[1], np.stack([masks(arguments) for arguments in eval(sys.argv[2])]))
"""

ERASINGS = [
    {"probability": 1.0},
    {"probability": 0.25, "min_area": 0.1, "max_area": 0.9},
    {"probability": 0.75, "max_aspect": 0.5, "mode": "pixel"},
    {"probability": 1.0, "max_count": 3, "mode": "rand"},
    {"probability": 1.0, "min_count": 2, "max_count": 4, "min_aspect": 0.1},
]


@pytest.fixture(scope="module")
def their_masks(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    file = tmp_path_factory.mktemp("timm") / "erased.npy"
    ask_torchvision(_ERASED, file, repr(ERASINGS))
    return np.load(file)


@pytest.mark.parametrize("number", range(len(ERASINGS)))
def test_windows_are_erased_by_the_rule_of_timm(number: int, their_masks: np.ndarray) -> None:
    arguments, theirs = ERASINGS[number], their_masks[number]
    white = np.full((31, 40, 3), 255, np.uint8)
    chain = [T.ToDtype("float32", scale=True), T.TimmRandomErasing(**arguments)]
    ours = np.stack([T.apply(chain, white, sample=i)[..., 0] != 1 for i in range(8000)])
    for of in (
        lambda masks: masks.sum((1, 2)),
        lambda masks: masks.any(2).sum(1),
        lambda masks: masks.any(1).sum(1),
        lambda masks: masks.any(2).argmax(1),
        lambda masks: masks.any(1).argmax(1),
    ):
        assert_same_distribution(of(ours), of(theirs))


def erased(mode: str) -> list[np.ndarray]:
    """Returns the erased elements of each image and channel."""
    image = np.full((30, 40, 3), 255, np.uint8)
    chain = [T.Normalize((0, 0, 0), (0.001, 0.001, 0.001)), T.TimmRandomErasing(1.0, mode=mode)]
    made = [T.apply(chain, image, sample=i) for i in range(1000)]
    return [one[..., c][one[..., c] != one.max()] for one in made for c in range(3)]


def test_erase_modes_const_rand_and_pixel_fill_as_in_timm() -> None:
    assert all((one == 0).all() for one in erased("const"))
    windows = [one for one in erased("rand") if len(one)]
    assert all((one == one[0]).all() for one in windows)
    numbers = np.array([one[0] for one in windows])
    assert len(np.unique(numbers)) == len(numbers) > 2900
    everything = np.concatenate(erased("pixel"))
    for one in (numbers, everything):
        shares = np.sort([0.5 * math.erfc(-x / math.sqrt(2)) for x in one])
        distance = np.abs(np.arange(1, len(one) + 1) / len(one) - shares).max()
        assert distance * math.sqrt(len(one)) < 2.7


def test_timm_erasing_needs_float_elements() -> None:
    with pytest.raises(tundish.ArgumentError, match="must come after Normalize"):
        T.plan([T.TimmRandomErasing()], (9, 9))
    with pytest.raises(tundish.ArgumentError, match="TimmRandomErasing: must come after Normalize"):
        T.plan([T.ToDtype("float32"), T.TimmRandomErasing(), T.Normalize()], (9, 9))
    with pytest.raises(tundish.ArgumentError, match="min_count must not be above max_count"):
        T.plan([T.Normalize(), T.TimmRandomErasing(min_count=3, max_count=2)], (9, 9))
