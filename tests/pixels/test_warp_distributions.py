"""Rotations, affine transforms and perspectives draw by torchvision's rules: 100,000 plans each."""

import numpy as np
from tundish import transforms as T

from tests.helpers.many_plans import many_plans

DRAWS = 100_000
HEIGHT, WIDTH = 40, 64


def values_of(transform: T.Transform, draws: int = DRAWS) -> np.ndarray:
    """Returns the coefficients of each plan that has a step."""
    plans = many_plans([transform], (HEIGHT, WIDTH), draws, seed=5)
    return np.array([plan["steps"][1]["value"] for plan in plans if len(plan["steps"]) > 1])


def assert_uniform(numbers: np.ndarray, low: float, high: float) -> None:
    """Kolmogorov-Smirnov test; one in a million random seeds would fail."""
    shares = np.sort((numbers - low) / (high - low))
    assert shares[0] > -1e-6
    assert shares[-1] < 1 + 1e-6
    places = np.arange(1, len(shares) + 1) / len(shares)
    distance = max(np.abs(places - shares).max(), np.abs(places - 1 / len(shares) - shares).max())
    assert distance * np.sqrt(len(shares)) < 2.7


def assert_counts(numbers: np.ndarray, chances: dict[int, float]) -> None:
    """Chi-square test; the limit is in standard deviations from the mean."""
    assert set(np.unique(numbers)) == set(chances)
    expected = np.array([len(numbers) * chance for chance in chances.values()])
    counts = np.array([(numbers == value).sum() for value in chances])
    square = ((counts - expected) ** 2 / expected).sum()
    freedom = len(chances) - 1
    assert square < freedom + 6 * np.sqrt(2 * freedom)


def assert_unrelated(*columns: np.ndarray) -> None:
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlations).max() < 6 / np.sqrt(len(columns[0]))


def test_the_angle_of_a_rotation_is_uniform() -> None:
    a = values_of(T.RandomRotation((-20, 75), "bilinear"))
    assert len(a) == DRAWS
    angles = np.degrees(np.arctan2(-a[:, 1], a[:, 0]))
    assert_uniform(angles, -20, 75)
    # float32 numbers: torch.empty(1).uniform_() gives 24 random bits.
    assert np.abs(angles - angles.astype(np.float32)).max() < 1e-12


def test_angle_translation_and_scale_of_an_affine_transform_are_uniform() -> None:
    a = values_of(T.RandomAffine(30, translate=(0.1, 0.0625), scale=(0.5, 2)))
    scale = 1 / np.sqrt(a[:, 0] * a[:, 4] - a[:, 1] * a[:, 3])
    angles = np.degrees(np.arctan2(a[:, 1], a[:, 0]))
    matrices = a[:, [0, 1, 3, 4]].reshape(-1, 2, 2)
    center = np.array([WIDTH / 2, HEIGHT / 2])
    moves = np.linalg.solve(matrices, (center - a[:, [2, 5]])[..., None])[..., 0] - center
    assert np.abs(moves - moves.round()).max() < 1e-9
    x, y = moves.round().T
    assert_uniform(angles, -30, 30)
    assert_uniform(scale, 0.5, 2)
    # From -6.4 to 6.4 and from -2.5 to 2.5, rounded; ties would go to even numbers.
    assert_counts(x, {k: (0.9 if abs(k) == 6 else 1) / 12.8 for k in range(-6, 7)})
    assert_counts(y, dict.fromkeys(range(-2, 3), 1 / 5))
    assert_unrelated(angles, scale, x, y)


def test_the_shear_of_an_affine_transform_is_uniform() -> None:
    a = values_of(T.RandomAffine(0, shear=(-10, 30, 5, 15)))
    x, y = np.degrees(np.arctan(a[:, 1])), np.degrees(np.arctan(a[:, 3]))
    assert_uniform(x, -10, 30)
    assert_uniform(y, 5, 15)
    assert_unrelated(x, y)
    a = values_of(T.RandomAffine(0, shear=12), 10_000)  # the same numbers in a shorter notation
    assert_uniform(np.degrees(np.arctan(a[:, 1])), -12, 12)
    assert not a[:, 3].any()


def test_the_corners_of_a_perspective_are_uniform() -> None:
    a = values_of(T.RandomPerspective(0.4, p=0.75))
    assert abs(len(a) / DRAWS - 0.75) < 6 * np.sqrt(0.75 * 0.25 / DRAWS)
    back = np.linalg.inv(np.concatenate([a, np.ones((len(a), 1))], 1).reshape(-1, 3, 3))
    right, bottom = WIDTH - 1, HEIGHT - 1
    corners = np.array([(0, 0, 1), (right, 0, 1), (right, bottom, 1), (0, bottom, 1)])
    places = back @ corners.T  # plan, coordinate, corner
    x, y = np.moveaxis(places[:, :2] / places[:, 2:], 1, 0)
    assert max(np.abs(x - x.round()).max(), np.abs(y - y.round()).max()) < 0.01
    # int(0.4 * 32) + 1 and int(0.4 * 20) + 1 values each.
    columns = [right - x[:, i].round() if i in (1, 2) else x[:, i].round() for i in range(4)]
    rows = [bottom - y[:, i].round() if i in (2, 3) else y[:, i].round() for i in range(4)]
    for column in columns:
        assert_counts(column, dict.fromkeys(range(13), 1 / 13))
    for row in rows:
        assert_counts(row, dict.fromkeys(range(9), 1 / 9))
    assert_unrelated(*columns, *rows)
