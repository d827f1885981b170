"""ElasticTransform: torchvision's pixels for the same random numbers, and their distribution."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tundish import transforms as T

from bench.augment.elastic_numbers import random_numbers
from tests.helpers.same_pixels import MOVED, sample_images
from tests.helpers.torchvision_child import ask_torchvision

# Arguments of ElasticTransform.
CASES: list[dict[str, Any]] = [
    {},
    {"interpolation": "nearest"},
    {"fill": None},
    {"fill": (9, 130, 255), "alpha": (300.0, 20.0), "sigma": (2.0, 4.0)},
    {
        "fill": (9, 130, 255),
        "alpha": (300.0, 20.0),
        "sigma": (2.0, 4.0),
        "interpolation": "nearest",
    },
    {"alpha": 30.0, "sigma": 0.0, "fill": 77},
    {"alpha": 9.0, "sigma": 0.1, "fill": None, "interpolation": "nearest"},
    {"alpha": 0.0, "sigma": 0.1, "fill": 200},
]

# Each case runs twice: with the given field of displacements, and with the field that torchvision
# computes from the given random numbers.
_CHILD = """
import json
import numpy as np
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F
results = {}
cases = json.loads(sys.argv[3])
with np.load(sys.argv[1]) as given:
    for name in [one[6:] for one in given.files if one.startswith("image ")]:
        image = Image.fromarray(given["image " + name])
        for number, case in enumerate(cases):
            if f"field {number} {name}" not in given.files:
                continue
            transform = v2.ElasticTransform(**case)
            field = torch.from_numpy(given[f"field {number} {name}"])
            fill = transform._fill[Image.Image] if Image.Image in transform._fill else case.get("fill", 0)
            if isinstance(fill, list) and len(fill) == 3:
                fill = [float(one) for one in fill]
            same = F.elastic(image, field, interpolation=transform.interpolation, fill=fill)
            results[f"given {number} {name}"] = np.asarray(same)
            numbers = [torch.from_numpy(one) for one in given[f"numbers {number} {name}"]]
            rand, torch.rand = torch.rand, lambda *size: (numbers.pop(0).reshape(size) + 1) / 2
            results[f"made {number} {name}"] = np.asarray(transform(image))
            torch.rand = rand
np.savez(sys.argv[2], **results)
"""


def weights(kernel: int, sigma: float) -> np.ndarray:
    """Returns the weight of the center, then of each distance."""
    exact = [math.exp(-0.5 * (d / sigma) ** 2) for d in range(kernel // 2 + 1)]
    total = exact[0] + 2 * sum(exact[1:])
    return np.array([one / total for one in exact if one >= total * 2**-24], np.float32)


def blurred(numbers: np.ndarray, weight: np.ndarray, axis: int) -> np.ndarray:
    """Blurs in float32, from the center outwards."""
    reach = len(weight) - 1
    padding = [(reach, reach) if one == axis else (0, 0) for one in (0, 1)]
    padded = np.pad(numbers, padding, "reflect")
    n = numbers.shape[axis]

    def at(d: int) -> np.ndarray:
        return np.take(padded, range(reach + d, reach + d + n), axis)

    out = weight[0] * at(0)
    for d in range(1, reach + 1):
        out += weight[d] * (at(-d) + at(d))
    return out


def displacements(step: dict[str, Any], numbers: np.ndarray) -> np.ndarray:
    """Returns the field that torchvision's F.elastic expects: (1, height, width, 2)."""
    alphas, sigmas = step["value"][:2], step["value"][2:4]
    out = []
    for axis, one in enumerate(numbers):
        if sigmas[axis] > 0:
            kernel = int(8 * sigmas[axis] + 1) | 1
            across = blurred(one, weights(kernel, sigmas[0]), 1)
            one = blurred(across, weights(kernel, sigmas[1]), 0)
        side = numbers.shape[2 - axis]
        out.append(one * np.float32(alphas[axis]) / np.float32(side))
    return np.stack(out, -1)[None]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Maps "given" and "made" to (case, name, pixels of Tundish, pixels of torchvision)."""
    folder: Path = tmp_path_factory.mktemp("elastic")
    photo = sample_images()["smooth 113x97"].repeat(2, 0).repeat(3, 1)
    noise = np.random.default_rng(1).integers(0, 256, photo.shape, np.uint8)
    images = sample_images(kinds=MOVED) | {"large": photo, "large noise": noise}
    sent: dict[str, np.ndarray] = {}
    ours: dict[str, np.ndarray] = {}
    for name, image in images.items():
        sent[f"image {name}"] = image
        for number, case in enumerate(CASES):
            transforms = [T.ElasticTransform(**case)]
            reach = int(8 * np.max(case.get("sigma", 5.0)) + 1) // 2
            if reach >= min(image.shape[:2]):
                with pytest.raises(ValueError, match=f"needs more than {reach} pixels"):
                    T.plan(transforms, image.shape[:2])
                continue
            step = T.plan(transforms, image.shape[:2], sample=number)["steps"][1]
            numbers = random_numbers(step["key"], *image.shape[:2])
            sent[f"numbers {number} {name}"] = numbers
            sent[f"field {number} {name}"] = displacements(step, numbers)
            ours[f"{number} {name}"] = T.apply(transforms, image, sample=number)
    np.savez(folder / "given.npz", **sent)
    ask_torchvision(_CHILD, folder / "given.npz", folder / "theirs.npz", json.dumps(CASES))
    out: dict[str, list[Any]] = {"given": [], "made": []}
    with np.load(folder / "theirs.npz") as theirs:
        for key, made in ours.items():
            case = CASES[int(key.split()[0])]
            for how, several in out.items():
                several.append((case, key, made, theirs[f"{how} {key}"]))
    return out


def test_the_pixels_equal_torchvisions_for_the_same_displacements(
    compared: dict[str, list[Any]],
) -> None:
    assert len(compared["given"]) > 60
    for case, name, made, theirs in compared["given"]:
        np.testing.assert_array_equal(made, theirs, err_msg=f"{case} {name}")


def test_the_pixels_equal_torchvisions_for_the_same_numbers_up_to_rounding(
    compared: dict[str, list[Any]],
) -> None:
    """torchvision blurs with a two-dimensional kernel and rounds in another order."""
    levels = {"nearest": [0, 0], "bilinear": [0, 0]}
    for case, name, made, theirs in compared["made"]:
        filter = case.get("interpolation", "bilinear")
        difference = np.abs(made.astype(int) - theirs)
        if filter == "bilinear":
            assert difference.max() <= 1, (case, name)
        levels[filter][0] += int((difference > 0).any(-1).sum())
        levels[filter][1] += difference[..., 0].size
    assert levels["nearest"][0] <= 1e-4 * levels["nearest"][1], levels
    assert levels["bilinear"][0] <= 1e-3 * levels["bilinear"][1], levels


def test_the_random_numbers_are_uniform_and_independent() -> None:
    keys = {
        T.plan([T.ElasticTransform()], (64, 64), sample=i)["steps"][1]["key"] for i in range(99)
    }
    assert len(keys) == 99
    numbers = random_numbers(min(keys), 400, 500)
    for one in numbers:  # Kolmogorov-Smirnov test at 0.1 %
        ordered = np.sort(one.ravel().astype(float))
        ranks = np.arange(len(ordered) + 1) / len(ordered)
        below = (ordered + 1) / 2
        worst = max(np.abs(below - ranks[1:]).max(), np.abs(below - ranks[:-1]).max())
        assert worst < 1.95 / math.sqrt(len(ordered))
        for neighbor in (one[:, 1:] * one[:, :-1], one[1:] * one[:-1]):
            assert abs(neighbor.mean() * 3) < 4 / math.sqrt(neighbor.size)
    assert abs((numbers[0] * numbers[1]).mean() * 3) < 4 / math.sqrt(numbers[0].size)


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.ElasticTransform(sigma=(1, 0)), "sigma must be two positive numbers, or 0, not (1, 0)"),
        (T.ElasticTransform(sigma=-1), "sigma must be one number or two from 0"),
        (T.ElasticTransform(alpha=(1, 2, 3)), "alpha must be one number or two"),
        (T.ElasticTransform(interpolation="bicubic"), "interpolation must be nearest or bilinear"),
        (T.ElasticTransform(fill=300), "fill must be a level from 0 to 255, or three, or none"),
        (T.ElasticTransform(), "sigma of (5, 5) needs more than 20 pixels across and down, and the image has 30x20"),
    ],
)  # fmt: skip
def test_impossible_arguments_are_refused(transform: T.Transform, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        T.plan([transform], (20, 30))
    assert text in str(caught.value)
