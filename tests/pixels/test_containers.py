"""RandomApply, RandomChoice and RandomOrder."""

import numpy as np
import pytest
import tundish
from tundish import transforms as T

from tests.helpers.many_plans import many_plans

FLIP = T.RandomHorizontalFlip(1)
INVERT = T.RandomInvert(1)
FEW = T.RandomPosterize(2, p=1)
IMAGE = np.random.default_rng(1).integers(0, 256, (5, 6, 3)).astype(np.uint8)


def ops(transforms: list[T.Transform], sample: int) -> list[str]:
    return [step["op"] for step in T.plan(transforms, (5, 6), sample=sample)["steps"][1:]]


def share(transforms: list[T.Transform], wanted: list[str], draws: int = 20_000) -> float:
    plans = many_plans(transforms, (5, 6), draws)
    return sum([step["op"] for step in plan["steps"][1:]] == wanted for plan in plans) / draws


def test_random_apply_applies_all_or_none() -> None:
    both = [T.RandomApply([INVERT, FEW], p=0.3)]
    assert {tuple(ops(both, i)) for i in range(200)} == {(), ("invert", "posterize")}
    assert abs(share(both, ["invert", "posterize"]) - 0.3) < 0.015


def test_random_choice_selects_by_weight() -> None:
    assert abs(share([T.RandomChoice([INVERT, FEW])], ["invert"]) - 0.5) < 0.015
    some = [T.RandomChoice([INVERT, FEW, T.RandomSolarize(9, p=1)], p=[3, 0, 1])]
    assert abs(share(some, ["invert"]) - 0.75) < 0.015
    assert share(some, ["posterize"]) == 0


def test_random_order_uses_every_order() -> None:
    three = [T.RandomOrder([INVERT, FEW, T.RandomSolarize(9, p=1)])]
    counts: dict[tuple[str, ...], int] = {}
    for i in range(12_000):
        order = tuple(ops(three, i))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(n - 2000) < 250 for n in counts.values())


def test_containers_nest_and_give_the_pixels_of_their_choice() -> None:
    inner = T.RandomChoice([T.RandomApply([INVERT], p=0.5), T.RandomOrder([FLIP, FEW])])
    for i in range(50):
        steps = T.plan([inner], (5, 6), sample=i)["steps"]
        expected = IMAGE[:, ::-1] if steps[0]["mirror_x"] else IMAGE
        for step in steps[1:]:
            expected = 255 - expected if step["op"] == "invert" else expected & 0xC0
        np.testing.assert_array_equal(T.apply([inner], IMAGE, sample=i), expected)


def test_a_choice_does_not_change_the_draws_of_other_transforms() -> None:
    crop = T.RandomCrop(3)
    for i in range(50):
        alone = T.plan([T.RandomChoice([FEW, INVERT]), crop], (50, 60), sample=i)
        other = T.plan([T.RandomChoice([FEW, INVERT], p=[0, 1]), crop], (50, 60), sample=i)
        assert alone["steps"][-1] == other["steps"][-1]


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.RandomApply([INVERT], p=2), "RandomApply: p must be a number from 0 to 1"),
        (T.RandomChoice([]), "RandomChoice: transforms must not be empty"),
        (T.RandomChoice([INVERT], p=[1, 2]), "p has 2 numbers for 1 transforms"),
        (T.RandomChoice([INVERT], p=[0]), "p must have a sum above 0"),
        (T.RandomApply([T.Normalize()]), "RandomApply: cannot hold Normalize"),
        (T.RandomApply([T.RandomPosterize(9)]), "RandomPosterize: bits must be"),
    ],
)
def test_invalid_arguments_are_refused(transform: T.Transform, text: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=text):
        T.plan([transform], (5, 6))
