"""TimmRandAugment and TimmAutoAugment have timm's choices and timm's rules for draws.

timm makes every image that a policy with fixed magnitudes can produce; our images must be the same.
"""

import math

import numpy as np
import pytest
import tundish
from PIL import Image, ImageFilter
from tundish import transforms as T

from tests.helpers.many_plans import many_plans
from tests.helpers.torchvision_child import ask_torchvision

_CHILD = """
import itertools, random
import numpy as np
from PIL import Image
from timm.data import auto_augment as A
image = Image.fromarray(np.load(sys.argv[1]))

def variants(op):
    def scripted(number, filter):
        def run(image):
            random.random, random.choice = lambda: number, lambda filters: filter
            prob, op.prob = op.prob, 1
            image = op(image)
            op.prob = prob
            return image
        return run
    filters = op.kwargs["resample"]
    filters = filters if isinstance(filters, tuple) else [filters]
    out = [scripted(*both) for both in itertools.product((0.2, 0.9), filters)] if op.prob > 0 else []
    return out + ([lambda image: image] if op.prob < 1 else [])

def everything(config, hparams):
    make = A.rand_augment_transform if config.startswith("rand") else A.auto_augment_transform
    policy = make(config, hparams)
    if isinstance(policy, A.RandAugment):
        repeat = policy.choice_weights is None
        orders = itertools.product(policy.ops, repeat=policy.num_layers)
        parts = [ops for ops in orders if repeat or len(set(ops)) == len(ops)]
    else:
        parts = policy.policy
    results = []
    for ops in parts:
        for chain in itertools.product(*(variants(op) for op in ops)):
            made = image
            for run in chain:
                made = run(made)
            results.append(np.asarray(made))
    return np.unique(np.stack(results), axis=0)

np.savez(sys.argv[2], **{config: everything(config, more) for config, more in eval(sys.argv[3]).items()})
"""

MEAN = {"img_mean": (124, 116, 104)}
POLICIES = {
    "rand-m9-n1-p1": ({}, 1500),
    "rand-m9-n1-inc1": ({}, 3000),
    "rand-m10-n1-p1-inc1": ({"interpolation": "bilinear"}, 1500),
    "rand-m0-n1-p1": ({}, 1500),
    "rand-n1-p1-inc1": ({"interpolation": "bicubic", "translate_pct": 0.3}, 1500),
    "rand-m3-mstd0-n1-p1-inc1": ({"interpolation": "nearest", "img_mean": (9, 99, 200)}, 1500),
    "rand-m15-n1-p1": ({}, 1500),
    "rand-m15-mmax20-n1-p1-inc1": ({}, 1500),
    "rand-m25-mmax30-n1-p1": ({}, 1500),
    "rand-m7-n1-p1-tweights": ({}, 6000),
    "rand-m6-n1-p1-t3a": ({}, 300),
    "rand-m9-n1-p1-t3aw": ({}, 3000),
    "rand-m9-n2-p1-inc1": ({"interpolation": "bilinear"}, 12_000),
    "original": ({}, 20_000),
    "originalr": ({"interpolation": "bilinear"}, 20_000),
    "v0": ({}, 20_000),
    "v0r": ({"interpolation": "bicubic"}, 20_000),
}


IMAGE = np.random.default_rng(3).integers(0, 256, (11, 14, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[bytes]]:
    """Every image that timm can produce, by policy."""
    folder = tmp_path_factory.mktemp("timm")
    np.save(folder / "image.npy", IMAGE)
    asked = {}
    for config, (arguments, _) in POLICIES.items():
        asked[config] = {**MEAN, **arguments}
        if "interpolation" in arguments:
            number = {"nearest": 0, "bilinear": 2, "bicubic": 3}[arguments["interpolation"]]
            asked[config]["interpolation"] = number
    ask_torchvision(_CHILD, folder / "image.npy", folder / "all.npz", repr(asked))
    with np.load(folder / "all.npz") as made:
        return {config: {one.tobytes() for one in made[config]} for config in made.files}


@pytest.mark.parametrize("config", POLICIES)
def test_a_policy_gives_the_images_that_timm_gives(
    config: str, theirs: dict[str, set[bytes]]
) -> None:
    arguments, draws = POLICIES[config]
    kind = T.TimmRandAugment if config.startswith("rand") else T.TimmAutoAugment
    ours = [kind(config, **arguments)]
    made = {T.apply(ours, IMAGE, sample=i).tobytes() for i in range(draws)}
    assert made <= theirs[config]
    if len(theirs[config]) < 100:
        assert made == theirs[config]
    assert len(made) > 0.95 * len(theirs[config])  # the rarest chains may be missing


def steps(transform: T.Transform, draws: int = 100_000) -> list[list[dict]]:
    return [plan["steps"][1:] for plan in many_plans([transform], (40, 64), draws, seed=7)]


def radii(config: str) -> np.ndarray:
    """Returns the radii of the blurs: 0.1 at magnitude 0, 2.0 at magnitude 10."""
    kind = T.TimmRandAugment if config.startswith("rand") else T.TimmAutoAugment
    every = [step for plan in steps(kind(config)) for step in plan]
    out = np.array([step["value"][0] for step in every if step["op"] == "box blur"])
    assert abs(len(out) - len(every) / 3) < 6 * math.sqrt(len(every) * 2 / 9)
    return out


def assert_uniform(shares: np.ndarray) -> None:
    """Kolmogorov-Smirnov test; one in a million random seeds would fail."""
    shares = np.sort(shares)
    assert shares[0] >= 0
    assert shares[-1] <= 1
    places = np.arange(1, len(shares) + 1) / len(shares)
    distance = max(np.abs(places - shares).max(), np.abs(places - 1 / len(shares) - shares).max())
    assert distance * math.sqrt(len(shares)) < 2.7


def test_mstd_draws_a_normal_magnitude_that_is_clipped() -> None:
    magnitudes = (radii("rand-m5-n1-p1-mstd2-t3a") - 0.1) / 1.9 * 10
    shares = np.array([0.5 * math.erfc((5 - m) / 2 / math.sqrt(2)) for m in magnitudes])
    beyond = 0.5 * math.erfc(2.5 / math.sqrt(2))  # probability on either side
    expected = len(shares) * beyond
    for low, high in ((-0.1, beyond + 1e-9), (1 - beyond - 1e-9, 1.1)):
        count = ((shares > low) & (shares < high)).sum()
        assert abs(count - expected) < 6 * math.sqrt(expected)
    inside = shares[(shares > beyond + 1e-9) & (shares < 1 - beyond - 1e-9)]
    assert_uniform((inside - beyond) / (1 - 2 * beyond))


def test_mstd_above_100_draws_the_magnitude_uniformly_from_0_to_m() -> None:
    magnitudes = (radii("rand-m8-n1-p1-mstd101-t3a") - 0.1) / 1.9 * 10
    assert_uniform(magnitudes / 8)


def test_mmax_is_the_limit_of_the_magnitude() -> None:
    plans = steps(T.TimmRandAugment("rand-m12-n1-p1-mstd3-mmax14-inc1"), 20_000)
    affine = [plan[0]["value"] for plan in plans if plan[0]["op"] == "affine"]
    moves = [abs(m[2]) for m in affine if m[0] == 1 and m[1] == m[3] == 0 and m[2] != 0]
    magnitudes = np.array(moves) / 64 / 0.45 * 10
    assert abs(magnitudes.max() - 14) < 1e-9
    assert abs((magnitudes > 14 - 1e-9).mean() - 0.5 * math.erfc(2 / 3 / math.sqrt(2))) < 0.07
    assert len(magnitudes) > 1000


def test_the_blur_of_3_augment_has_a_uniform_radius() -> None:
    assert_uniform((radii("3a") - 0.1) / 1.9)


def test_3_augment_inverts_desaturates_or_blurs() -> None:
    image = np.random.default_rng(5).integers(0, 256, (9, 12, 3)).astype(np.uint8)
    picture = Image.fromarray(image)
    seen = set()
    for i in range(60):
        (step,) = T.plan([T.TimmAutoAugment("3a")], (9, 12), sample=i)["steps"][1:]
        seen.add(step["op"])
        if step["op"] == "solarize":
            expected = np.where(image < 128, image, 255 - image)
        elif step["op"] == "saturation":
            expected = np.asarray(picture.convert("L").convert("RGB"))
        else:
            expected = np.asarray(picture.filter(ImageFilter.GaussianBlur(step["value"][0])))
        made = T.apply([T.TimmAutoAugment("3a")], image, sample=i)
        np.testing.assert_array_equal(made, expected)
    assert seen == {"solarize", "saturation", "box blur"}


WEIGHTS = {"affine": [3, 2, 2, 1, 1], "saturation": [0.25], "sharpness": [0.25]}
WEIGHTS |= {"autocontrast": [0.25], "solarize": [0.05], "solarize add": [0.05], "contrast": [0.05]}
WEIGHTS |= {"brightness": [0.05], "equalize": [0.05], "posterize": [0.05], "invert": [0.05]}


def test_weighted_operations_are_drawn_by_weight_without_repetition() -> None:
    plans = steps(T.TimmRandAugment("rand-m9-n2-p1-tweights"))
    names = [name for name, weights in WEIGHTS.items() for _ in weights]
    p = np.array([weight for weights in WEIGHTS.values() for weight in weights])
    p /= p.sum()
    second = np.array(
        [sum(p[i] * p[j] / (1 - p[i]) for i in range(15) if i != j) for j in range(15)]
    )
    for place, chances in ((0, p), (1, second)):
        square, counts = 0.0, [plan[place]["op"] for plan in plans]
        for name in WEIGHTS:
            chance = sum(c for c, n in zip(chances, names, strict=True) if n == name)
            square += (counts.count(name) - chance * len(plans)) ** 2 / (chance * len(plans))
        assert square < 10 + 6 * math.sqrt(20)
    assert not any(a["op"] == b["op"] != "affine" for a, b in plans)


def test_each_operation_comes_with_probability_p() -> None:
    plans = steps(T.TimmRandAugment("rand-m9-n3-p0.3-inc1"))
    for count in range(4):
        share = sum(len(plan) == count for plan in plans) / len(plans)
        assert abs(share - math.comb(3, count) * 0.3**count * 0.7 ** (3 - count)) < 0.01


REFUSED = {
    "m9-mstd0.5": 'it must begin with "rand"',
    "original": "TimmAutoAugment",
    "rand-m9-inc": 'inc must be a whole number from 0 to 1, not ""',
    "rand-m9-x1": '"x1" is not one of m, n, p, mstd, mmax, inc with a number',
    "rand-w0": '"w0" is not one of',
    "rand-m9.5": 'm must be a whole number from 0 to 1000, not "9.5"',
    "rand-m9-m8": "m is there twice",
    "rand-p2": "p must be a number from 0 to 1",
    "rand-tfoo": 't must be weights, 3a or 3aw, not "foo"',
    "rand-n16-tweights": "n is 16, but there are only 15 weighted operations",
    "rand-": '"" is not one of',
}


@pytest.mark.parametrize("config", REFUSED)
def test_an_invalid_config_or_one_that_timm_ignores_is_refused(config: str) -> None:
    with pytest.raises(tundish.ArgumentError) as refused:
        T.plan([T.TimmRandAugment(config)], (4, 4))
    assert REFUSED[config] in str(refused.value)
    assert f'TimmRandAugment: config "{config}"' in str(refused.value)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(tundish.ArgumentError, match="original, originalr, v0, v0r, 3a"):
        T.plan([T.TimmAutoAugment("augmix-m3")], (4, 4))
    with pytest.raises(tundish.ArgumentError, match='"m9" is not one of mstd'):
        T.plan([T.TimmAutoAugment("v0-m9")], (4, 4))


@pytest.mark.parametrize("kind", [T.TimmRandAugment, T.TimmAutoAugment])
@pytest.mark.parametrize("head", ["", "rand-", "rand-m", "rand-t", "v0-", "v0-mstd"])
def test_a_long_config_is_cut_in_the_message_and_printable(kind: type, head: str) -> None:
    with pytest.raises(tundish.ArgumentError) as refused:
        T.plan([kind(head + "\x1b[31m\n" + "9x" * 3000)], (4, 4))
    assert len(str(refused.value)) < 600
    assert "\x1b" not in str(refused.value)
