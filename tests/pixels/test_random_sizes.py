"""ScaleJitter, RandomShortestSize and RandomResize: torchvision's sizes, pixels, distributions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import tundish
from tundish import transforms as T

from tests.helpers.many_plans import many_plans
from tests.helpers.same_pixels import differences
from tests.helpers.torchvision_child import ask_torchvision

CASES = """[
    [ScaleJitter((40, 30), (1.0, 1.0))], [ScaleJitter((31, 47), (0.5, 0.5), BICUBIC)],
    [ScaleJitter((300, 200), (0.7, 0.7), NEAREST)],
    [RandomShortestSize(20)], [RandomShortestSize([33], 40)], [RandomShortestSize(9, 9, BICUBIC)],
    [RandomResize(20, 21)], [RandomResize(33, 34, NEAREST)],
]"""
IMAGE = (47, 61)  # height, width
DRAWS = 20_000


def test_a_size_that_is_not_random_has_the_pixels_of_torchvision(tmp_path: Path) -> None:
    assert differences(CASES, tmp_path) == {}


_SIZES = """
import json
from torchvision.transforms import v2
def size(one, height, width, share):
    torch.rand = lambda *_: torch.tensor([share], dtype=torch.float32)
    return one.make_params([torch.zeros(3, height, width)])["size"]
out = []
for low, high, target, height, width, share in json.loads(sys.argv[1]):
    out.append(size(v2.ScaleJitter(target, (low, high)), height, width, share))
print(json.dumps(out))
"""


def test_scale_jitter_has_torchvisions_size_for_the_same_draw() -> None:
    """Both use the same 24 random bits. tests/helpers/draws.py reimplements our random numbers."""
    from tests.helpers.draws import Random

    rng = np.random.default_rng(5)
    asked, ours = [], []
    for sample in range(300):
        low, high = sorted(rng.uniform(0.05, 3, 2).tolist())
        target = rng.integers(20, 900, 2).tolist()
        height, width = rng.integers(20, 900, 2).tolist()
        share = (Random(0, 0, sample, "ScaleJitter").next() >> 40) * 2.0**-24
        asked.append((low, high, target, height, width, share))
        planned = T.plan([T.ScaleJitter(target, (low, high))], (height, width), sample=sample)
        ours.append(planned["size"][::-1])
    theirs = json.loads(ask_torchvision(_SIZES, json.dumps(asked)))
    keep = [n for n, size in enumerate(theirs) if min(size) > 0]
    assert len(keep) > 285
    assert [ours[n] for n in keep] == [theirs[n] for n in keep]


_DRAWN = """
import json
from torchvision.transforms import v2
torch.manual_seed(1)
image = torch.zeros(3, 47, 61)
print(json.dumps([[one.make_params([image])["size"][0] for _ in range(20000)] for one in eval(sys.argv[1])]))
"""
DRAWN = [
    "v2.ScaleJitter((100, 90))",
    "v2.ScaleJitter((100, 90), (0.8, 1.25))",
    "v2.RandomShortestSize([20, 25, 40, 80], 90)",
    "v2.RandomResize(20, 60)",
]


def test_sizes_are_drawn_as_torchvision_draws_them() -> None:
    """Two-sample Kolmogorov-Smirnov test; one in a million random seeds would fail."""
    text = f"[{', '.join(DRAWN)}]"
    theirs = json.loads(ask_torchvision(_DRAWN, text))
    for one, drawn in zip(eval(text, {"v2": T}), theirs, strict=True):
        ours = [plan["size"][1] for plan in many_plans([one], IMAGE, DRAWS)]
        if isinstance(one, T.RandomResize):  # torchvision's is the shorter side: here the height
            assert (min(ours), max(ours)) == (20, 59)
        sides = np.unique(ours + drawn)
        below = [np.searchsorted(np.sort(x), sides, "right") / DRAWS for x in (ours, drawn)]
        assert np.abs(below[0] - below[1]).max() * math.sqrt(DRAWS / 2) < 2.7


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (T.ScaleJitter(40), "ScaleJitter: target_size must be two numbers from 1 to 65535, not 40"),
        (T.ScaleJitter((40, 0)), "ScaleJitter: target_size must be two numbers from 1 to 65535"),
        (T.ScaleJitter((4, 4), (2, 1)), r"scale_range must be \(min, max\)"),
        (T.ScaleJitter((4, 4), (0, 0)), r"scale_range must be \(min, max\)"),
        (T.ScaleJitter((65535, 65535), (1e6, 1e6)), "a side would be"),
        (
            T.RandomShortestSize([]),
            "RandomShortestSize: min_size must be a number of pixels, or a list",
        ),
        (T.RandomShortestSize([5, 0]), "min_size must be from 1 to 65535, not 0"),
        (T.RandomShortestSize(5, 0), "max_size must be a whole number from 1 to 65535"),
        (T.RandomResize(9, 9), r"max_size must be larger than min_size \(9\), not 9"),
        (T.RandomResize(0, 9), "min_size must be a whole number from 1 to 65535"),
    ],
)
def test_invalid_arguments_are_refused(transform: T.Transform, message: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=message):
        T.plan([transform], (9, 9))


def test_a_side_of_less_than_a_pixel_becomes_one() -> None:
    assert T.plan([T.ScaleJitter((1, 1), (0.5, 0.5))], (9, 90))["size"] == [1, 1]
