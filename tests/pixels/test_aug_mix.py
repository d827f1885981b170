"""AugMix: torchvision's pixels for the same draws, bit for bit, and the distribution of draws."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tundish import transforms as T

from tests.helpers.same_pixels import sample_images
from tests.helpers.torchvision_child import ask_torchvision

# torchvision's AugMix with the draws of a plan; a chain of operations counts as one operation.
_CHILD = """
import json
import numpy as np
from PIL import Image
from torchvision.transforms.v2 import AugMix, functional as F
from torchvision.transforms.v2.functional import _geometry

OPERATIONS = {
    "brightness": F.adjust_brightness,
    "tensor saturation": F.adjust_saturation,
    "tensor contrast": F.adjust_contrast,
    "tensor sharpness": F.adjust_sharpness,
    "tensor autocontrast": F.autocontrast,
    "equalize": F.equalize,
    "solarize": F.solarize,
    "posterize": lambda image, bits: F.posterize(image, int(bits)),
}

class Replay(AugMix):
    def follow(self, plan):
        assert plan[0]["op"] == "mix begin" and plan[-1]["op"] == "mix end"
        self.chains, self.weights = [[]], []
        for step in plan[1:-1]:
            if step["op"] == "mix add":
                self.weights.append(step["value"][0])
                self.chains.append([])
            else:
                self.chains[-1].append(step)
        assert self.chains.pop() == []
        self.shares = [[plan[0]["value"][0], 1.0], self.weights]
        self.mixture_width, self.chain_depth = len(self.chains), 1
        return self

    def _sample_dirichlet(self, params):
        return torch.tensor([self.shares.pop(0)])

    def _get_random_item(self, space):
        return "chain", (lambda *sizes: None, False)

    def _apply_image_or_video_transform(self, image, name, magnitude, interpolation, fill):
        fill = fill[torch.Tensor] if torch.Tensor in fill else fill["others"]
        for step in self.chains.pop(0):
            if step["op"] != "tensor affine":
                image = OPERATIONS[step["op"]](image, *step["value"])
                continue
            height, width = image.shape[-2:]
            theta = torch.tensor(step["value"][:6], dtype=torch.float32).reshape(1, 2, 3)
            grid = _geometry._affine_grid(theta, width, height, width, height)
            image = _geometry._apply_grid_transform(image, grid, step["filter"], fill)
        return image

results = {}
cases, plans = json.loads(sys.argv[3]), json.load(open(sys.argv[4]))
with np.load(sys.argv[1]) as images:
    for key, plan in plans.items():
        number, sample, name = key.split(" ", 2)
        policy = Replay(**cases[int(number)]).follow(plan)
        results[key] = np.asarray(policy(Image.fromarray(images[name])))
np.savez(sys.argv[2], **results)
"""

CASES: list[dict[str, Any]] = [
    {},
    {"severity": 10, "fill": [9, 130, 255]},
    {"severity": 10, "interpolation": "nearest", "mixture_width": 2},
    {"severity": 10, "interpolation": "nearest", "fill": 200, "chain_depth": 2, "all_ops": False},
    {"severity": 6, "mixture_width": 1, "chain_depth": 5, "alpha": 0.2, "fill": 0},
]


def test_the_pixels_equal_torchvisions_for_the_same_draws(tmp_path: Path) -> None:
    images = sample_images()
    images["bright"] = np.random.default_rng(2).integers(220, 256, (300, 250, 3), np.uint8)
    plans, ours = {}, {}
    seen: Counter[str] = Counter()
    for number, case in enumerate(CASES):
        transforms = [T.AugMix(**case)]
        for sample in range(2):
            for name, image in images.items():
                key = f"{number} {sample} {name}"
                steps = T.plan(transforms, image.shape[:2], sample=sample)["steps"][1:]
                plans[key] = steps
                seen.update(step["op"] for step in steps)
                ours[key] = T.apply(transforms, image, sample=sample)
    assert len(seen) == 12, seen
    assert min(seen.values()) > 40, seen
    np.savez(tmp_path / "images.npz", **images)
    (tmp_path / "plans.json").write_text(json.dumps(plans))
    files = (tmp_path / "images.npz", tmp_path / "theirs.npz", json.dumps(CASES))
    ask_torchvision(_CHILD, *files, tmp_path / "plans.json")
    with np.load(tmp_path / "theirs.npz") as theirs:
        wrong = {key: plans[key] for key, made in ours.items() if (made != theirs[key]).any()}
    assert wrong == {}


_SPACE = """
import json
from torchvision.transforms.v2 import AugMix
from torchvision.transforms.v2.functional import _geometry
from torchvision.transforms.v2 import functional as F
out = []

def keep(*arguments):
    out[-1][1] = list(_geometry_matrix(*arguments))
    return out[-1][1]

_geometry_matrix, _geometry._get_inverse_affine_matrix = _geometry._get_inverse_affine_matrix, keep
policy = AugMix()
image = torch.zeros(1, 3, 70, 90, dtype=torch.uint8)
severity = int(sys.argv[1])
for name, (magnitudes, signed) in policy._AUGMENTATION_SPACE.items():
    values = magnitudes(10, 70, 90)
    values = [0.0] if values is None else [float(one) for one in values[:severity]]
    for value in values:
        for sign in (1, -1) if signed else (1,):
            out.append([name, sign * value, 1 / 13 / len(values) / (2 if signed else 1)])
            matrix = [name, None]
            out.append(matrix)
            policy._apply_image_or_video_transform(image, name, sign * value, "bilinear", policy._fill)
print(json.dumps(out))
"""

_NAMES = {
    "Brightness": "brightness",
    "Color": "tensor saturation",
    "Contrast": "tensor contrast",
    "Sharpness": "tensor sharpness",
    "AutoContrast": "tensor autocontrast",
    "Equalize": "equalize",
    "Solarize": "solarize",
    "Posterize": "posterize",
}


def rounded(value: list[float]) -> tuple[float, ...]:
    return tuple(round(float(one), 4) + 0.0 for one in value)


def expected_shares(severity: int) -> Counter[Any]:
    """Returns how often torchvision chooses each (operation, numbers) for an image of 70 x 90."""
    answers = json.loads(ask_torchvision(_SPACE, str(severity)))
    out: Counter[Any] = Counter()
    for (name, value, share), (_, matrix) in zip(answers[::2], answers[1::2], strict=True):
        if matrix is not None:
            still = rounded(matrix) == (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
            out["nothing" if still else ("tensor affine", rounded(matrix))] += share
        elif name == "Rotate":  # a rotation by 0 degrees
            out["nothing"] += share
        elif name in ("AutoContrast", "Equalize"):
            out[_NAMES[name], ()] += share
        elif name == "Solarize":
            out[_NAMES[name], rounded([255.0 * value])] += share
        elif name == "Posterize":
            out[_NAMES[name], rounded([value])] += share
        else:
            out[_NAMES[name], rounded([1.0 + value])] += share
    return out


def assert_shares(counts: Counter[Any], shares: Counter[Any]) -> None:
    """Chi-square test at about 0.01 %."""
    total = sum(counts.values())
    assert set(counts) <= set(shares), set(counts) - set(shares)
    assert math.isclose(sum(shares.values()), 1)
    chi_square = sum((counts[one] - p * total) ** 2 / (p * total) for one, p in shares.items())
    degrees = len(shares) - 1
    assert chi_square < degrees + 4 * math.sqrt(2 * degrees) + 6, (chi_square, degrees)


@pytest.mark.parametrize("severity", [3, 10])
def test_operations_are_drawn_as_torchvision_draws_them(severity: int) -> None:
    one = [T.AugMix(severity, mixture_width=1, chain_depth=1)]
    counts: Counter[Any] = Counter()
    for sample in range(8_000):
        steps = T.plan(one, (70, 90), sample=sample)["steps"][2:-2]
        counts[(steps[0]["op"], rounded(steps[0]["value"][:6])) if steps else "nothing"] += 1
    assert_shares(counts, expected_shares(severity))


def assert_drawn_from(numbers: np.ndarray, below: np.ndarray) -> None:
    """Kolmogorov-Smirnov test at 0.1 %; `below`: the probability below each sorted number."""
    ranks = np.arange(len(numbers) + 1) / len(numbers)
    worst = max(np.abs(below - ranks[1:]).max(), np.abs(below - ranks[:-1]).max())
    assert worst < 1.95 / math.sqrt(len(numbers))


def test_weights_follow_dirichlet_and_chains_have_one_to_three_operations() -> None:
    shares, weights, lengths = [], [], []
    for sample in range(8_000):
        steps = T.plan([T.AugMix()], (70, 90), sample=sample)["steps"][1:]
        adds = [i for i, step in enumerate(steps) if step["op"] == "mix add"]
        assert len(adds) == 3
        lengths += np.diff([0, *adds]).tolist()
        shares.append(steps[0]["value"][0])
        weights.append([steps[i]["value"][0] for i in adds])
    total = np.array(shares) + np.sum(weights, 1)
    np.testing.assert_allclose(total, 1, atol=1e-6)
    first = np.sort(shares)
    assert_drawn_from(first, first)  # Beta(1, 1)
    of_chains = np.array(weights) / np.sum(weights, 1)[:, None]
    for one in np.sort(of_chains, 0).T:  # a part of Dirichlet(1, 1, 1) follows Beta(1, 2)
        assert_drawn_from(one, 1 - (1 - one) ** 2)
    counts = Counter(int(length) - 1 for length in lengths)
    seen = 1 - expected_shares(3)["nothing"]
    wanted: Counter[Any] = Counter()
    for depth in (1, 2, 3):
        for k in range(depth + 1):
            wanted[k] += math.comb(depth, k) * seen**k * (1 - seen) ** (depth - k) / 3
    assert_shares(counts, wanted)


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.AugMix(severity=0), "severity must be a whole number from 1 to 10, not 0"),
        (T.AugMix(severity=11), "severity must be a whole number from 1 to 10, not 11"),
        (T.AugMix(mixture_width=0), "mixture_width must be a whole number from 1 to 100"),
        (T.AugMix(alpha=0), "alpha must be a number from"),
        (T.AugMix(interpolation="bicubic"), "interpolation must be nearest or bilinear"),
    ],
)
def test_arguments_that_torchvision_refuses_are_refused(transform: T.Transform, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        T.plan([transform], (20, 30))
    assert text in str(caught.value)
