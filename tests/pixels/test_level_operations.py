"""Operations on single levels give torchvision's pixels."""

from pathlib import Path

from tests.helpers.same_pixels import differences

CASES = """
[
    [RandomInvert(p=1)],
    [RandomInvert(p=0)],
    *[[RandomPosterize(bits, p=1)] for bits in range(9)],
    *[[RandomSolarize(threshold, p=1)] for threshold in (0, 0.5, 1, 127.5, 128, 255, 256)],
    [RandomSolarize(100, p=1), RandomPosterize(3, p=1), RandomInvert(p=1)],
    [RandomPosterize(2, p=1), Resize((9, 7)), RandomSolarize(100, p=1), RandomHorizontalFlip(p=1)],
    [RandomInvert(p=1), RandomHorizontalFlip(p=1), Resize((11, 12)), RandomVerticalFlip(p=1)],
]
"""


def test_level_operations_equal_torchvision_on_pillow_images(tmp_path: Path) -> None:
    assert differences(CASES, tmp_path) == {}
