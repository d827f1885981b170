"""Operations that move pixels give torchvision's pixels, and Pillow's for any coefficients."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tundish import transforms as T

from tests.helpers import same_pixels
from tests.helpers.same_pixels import KINDS, MOVED, differences
from tests.helpers.torchvision_child import ask_torchvision

ROTATIONS = """
[
    [RandomRotation([angle, angle], interpolation, expand, center, fill)]
    for angle in (0, 1e-9, -1e-30, 0.3, 7, 30, 45, 89.99, 90, 133.7, 180, 222, 270, 360, -90, 450, -1234.5)
    for interpolation in (NEAREST, BILINEAR, BICUBIC)
    for expand, center, fill in ((False, None, 0), (True, None, [9, 130, 255]), (False, [3, 11.5], 77))
]
"""

AFFINES = """
[
    [RandomAffine([angle, angle], None, [scale, scale], shear, interpolation, fill, center)]
    for angle, scale, shear, center in (
        (0, 1, None, None), (0, 1.7, None, None), (0, 0.3, None, [0, 0]), (30, 1, None, None), (-12.25, 0.8, None, [5, -3]),
        (0, 1, [20, 20], None), (0, 1, [0, 0, -31, -31], None), (77, 1.3, [-8, -8, 11, 11], [20, 30]), (180, 0.011, None, None),
        (33, 2e-4, [5, 5], None), (33, 3e-3, None, None), (10, 4000, None, None), (90, 1, None, None),
    )
    for interpolation in (NEAREST, BILINEAR, BICUBIC)
    for fill in (0, [200, 100, 50])
]
"""

MIXED = """
[
    [Resize((60, 50)), RandomRotation([20, 20], BILINEAR), CenterCrop(40), RandomHorizontalFlip(p=1)],
    [RandomRotation([90, 90], expand=True), RandomVerticalFlip(p=1), Resize(33), RandomRotation([180, 180])],
    [RandomInvert(p=1), RandomAffine([5, 5], shear=[9, 9], fill=40), RandomSolarize(100, p=1), RandomPosterize(3, p=1)],
    [RandomPerspective(p=0), RandomAffine(0)],
]
"""


@pytest.mark.parametrize(
    ("cases", "kinds"),
    [(ROTATIONS, MOVED), (AFFINES, MOVED), (MIXED, KINDS)],
    ids=["rotation", "affine", "mixed"],
)
def test_moved_pixels_equal_torchvision_on_pillow_images(
    cases: str, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    assert differences(cases, tmp_path, kinds=kinds) == {}


def by_pillow(step: dict, image: np.ndarray) -> np.ndarray:
    """Executes a step of a plan with Pillow."""
    kind = {"affine": Image.Transform.AFFINE, "perspective": Image.Transform.PERSPECTIVE}[
        step["op"]
    ]
    height, width = image.shape[:2]
    filters = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
    result = Image.fromarray(image).transform(
        tuple(step.get("size", (width, height))),
        kind,
        step["value"],
        filters[step["filter"]],
        fillcolor=tuple(step.get("fill", (0, 0, 0))),
    )
    return np.asarray(result)


@pytest.mark.parametrize("filter", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize(
    "transform",
    [
        lambda filter: T.RandomPerspective(0.7, p=1, interpolation=filter, fill=(1, 2, 250)),
        lambda filter: T.RandomAffine(180, (0.3, 0.2), (0.2, 3), (-40, 40, -30, 30), filter, 99),
        lambda filter: T.RandomRotation(180, filter, expand=True),
    ],
    ids=["perspective", "affine", "rotation"],
)
def test_random_draws_give_the_pixels_of_pillow(transform, filter: str) -> None:
    images = same_pixels.sample_images(kinds=MOVED)
    drawn = 0
    for sample in range(6):
        for name, image in images.items():
            chain = [transform(filter)]
            steps = T.plan(chain, image.shape[:2], sample=sample)["steps"]
            if len(steps) == 1:  # no step: a perspective of an image of one row or column
                continue
            drawn += 1
            expected = by_pillow(steps[1], image)
            assert np.array_equal(T.apply(chain, image, sample=sample), expected), (name, steps[1])
    assert drawn > 50


def corners_of(coefficients: list[float], height: int, width: int) -> list[list[int]]:
    """Returns the drawn positions of the image's corners."""
    a, b, c, d, e, f, g, h = coefficients
    back = np.linalg.inv(np.array([[a, b, c], [d, e, f], [g, h, 1]]))
    corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    places = [back @ (x, y, 1) for x, y in corners]
    exact = [(p[0] / p[2], p[1] / p[2]) for p in places]
    rounded = [[round(x), round(y)] for x, y in exact]
    assert np.abs(np.array(exact) - rounded).max() < 0.05
    return rounded


def test_the_coefficients_of_a_perspective_are_those_of_torchvision() -> None:
    height, width = 97, 113
    plans = [T.plan([T.RandomPerspective(0.6, p=1)], (height, width), sample=i) for i in range(400)]
    ours = [plan["steps"][1]["value"] for plan in plans]
    ends = [corners_of(one, height, width) for one in ours]
    starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    theirs = ask_torchvision(
        "from torchvision.transforms.functional import _get_perspective_coeffs as coefficients\n"
        "for end in eval(sys.argv[2]): print(*coefficients(eval(sys.argv[1]), end))",
        repr(starts),
        repr(ends),
    )
    expected = np.array([[float(one) for one in line.split()] for line in theirs.splitlines()])
    # Each is the float32 nearest to a float64 solution; numbers that are 0 up to rounding differ.
    equal = (np.array(ours) == expected) | (np.abs(np.array(ours) - expected) < 1e-12)
    assert equal.mean() > 0.999
    np.testing.assert_allclose(ours, expected, rtol=2e-7, atol=1e-12)


_STILL = """
import numpy as np
from PIL import Image
from torchvision import transforms as v1
with np.load(sys.argv[1]) as images:
    made = {
        f"{name} {filter}": np.asarray(v1.RandomPerspective(0, 1, v1.InterpolationMode(filter))(Image.fromarray(images[name])))
        for name in images.files for filter in ("nearest", "bilinear", "bicubic")
    }
np.savez(sys.argv[2], **made)
"""


def test_a_perspective_that_moves_no_corner_leaves_the_image(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    images = {
        f"{h}x{w}": random.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((64, 64), (37, 90))
    }
    np.savez(tmp_path / "images.npz", **images)
    ask_torchvision(_STILL, tmp_path / "images.npz", tmp_path / "made.npz")
    with np.load(tmp_path / "made.npz") as theirs:
        for name in theirs.files:
            size, filter = name.split()
            ours = T.apply([T.RandomPerspective(0, 1, filter)], images[size])
            np.testing.assert_array_equal(ours, images[size])
            most = 0 if filter == "nearest" else 1
            assert np.abs(theirs[name].astype(int) - ours).max() <= most, name


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (T.RandomRotation(-5), "degrees must be an angle of at least 0, or the lowest"),
        (T.RandomRotation((5, -5)), "the lowest angle .5. is above the highest .-5."),
        (T.RandomRotation((1, 2, 3)), "degrees must be"),
        (T.RandomRotation(5, center=(1,)), "center must be two numbers"),
        (T.RandomAffine(5, translate=(0.1, 1.5)), "translate must be two numbers from 0 to 1"),
        (T.RandomAffine(5, scale=(0, 1)), "scale must be two numbers"),
        (T.RandomAffine(5, scale=(2, 1)), "the lowest factor .2. is above the highest"),
        (T.RandomAffine(5, shear=(1, 2, 3)), "shear must be an angle"),
        (T.RandomPerspective(1.5), "distortion_scale must be a number from 0 to 1"),
    ],
)
def test_arguments_that_torchvision_refuses_are_refused(transform, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T.plan([transform], (8, 8))
