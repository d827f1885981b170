"""Numbers drawn by transforms have torchvision's distributions."""

import json
import math
from typing import Any

import numpy as np
from tundish import transforms as T

from tests.helpers.many_plans import many_plans
from tests.helpers.torchvision_child import ask_torchvision

DRAWS = 100_000


def steps(transform: T.Transform, op: str, count: int = DRAWS) -> list[dict[str, Any]]:
    """Returns the steps of this operation in the plans of the first samples."""
    plans = many_plans([transform], (40, 60), count)
    out = [step for plan in plans for step in plan["steps"][1:]]
    assert {step["op"] for step in out} == {op}
    return out


def assert_uniform(drawn: list[float], low: float, high: float) -> None:
    """Kolmogorov-Smirnov test at 0.1 %."""
    ordered = (np.sort(drawn) - low) / (high - low)
    worst = np.abs(ordered - (np.arange(len(ordered)) + 0.5) / len(ordered)).max()
    assert ordered[0] >= 0
    assert ordered[-1] <= 1
    assert worst < 1.95 / math.sqrt(len(ordered))


def test_sigma_of_gaussian_blur_is_uniform() -> None:
    drawn = steps(T.GaussianBlur(5), "blur")
    assert len(drawn) == DRAWS
    assert all(step["value"][2] == step["value"][3] for step in drawn)
    assert_uniform([step["value"][2] for step in drawn], 0.1, 2.0)


def test_the_pillow_blur_has_a_uniform_radius_and_probability_p() -> None:
    drawn = steps(T.PillowGaussianBlur((0.5, 3), p=0.3), "box blur")
    assert abs(len(drawn) - 0.3 * DRAWS) < 3.3 * math.sqrt(0.3 * 0.7 * DRAWS)
    assert_uniform([step["value"][0] for step in drawn], 0.5, 3)


def test_every_jpeg_quality_is_equally_likely() -> None:
    drawn = [int(step["value"][0]) for step in steps(T.JPEG((20, 29)), "jpeg")]
    counts = np.bincount(drawn)[20:]
    assert len(counts) == 10
    assert ((counts - DRAWS / 10) ** 2 / (DRAWS / 10)).sum() < 27.9  # 9 degrees of freedom, 0.1 %


_CHILD = """
import json
from torchvision.transforms.v2 import RandomErasing
torch.manual_seed(1)
out = []
image = torch.zeros(3, 40, 60)
for arguments in json.loads(sys.argv[1]):
    erase = RandomErasing(**arguments)
    drawn = (erase.make_params([image]) for _ in range(20000))
    out.append([[one[k] for k in "jiwh"] for one in drawn if one["v"] is not None])
print(json.dumps(out))
"""


def test_erased_windows_are_drawn_as_torchvision_draws_them() -> None:
    """Two-sample Kolmogorov-Smirnov test at 0.1 % for each number of the windows."""
    cases: list[dict[str, Any]] = [{}, {"scale": (0.3, 1.0), "ratio": (0.2, 6.0)}]
    theirs = json.loads(ask_torchvision(_CHILD, json.dumps(cases)))
    for case, expected in zip(cases, theirs, strict=True):
        drawn = steps(T.RandomErasing(p=1, **case), "erase")
        share, chance = len(drawn) / DRAWS, len(expected) / 20_000
        assert abs(share - chance) < 4 * math.sqrt(chance * (1 - chance) / 16_000) + 1e-9
        limit = 1.95 * math.sqrt(1 / len(drawn) + 1 / len(expected))
        for k in range(4):
            ours = np.bincount([step["window"][k] for step in drawn], minlength=64).cumsum()
            other = np.bincount([window[k] for window in expected], minlength=64).cumsum()
            assert np.abs(ours / ours[-1] - other / other[-1]).max() < limit


def test_p_of_random_erasing_is_the_share_of_erased_images() -> None:
    drawn = steps(T.RandomErasing(p=0.25), "erase")
    assert abs(len(drawn) - 0.25 * DRAWS) < 3.3 * math.sqrt(0.25 * 0.75 * DRAWS)
