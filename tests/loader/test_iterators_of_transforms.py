"""Generators of transforms can be read only once; no transform may be lost."""

import numpy as np
import pytest
import tundish
from tundish import transforms as T

INVERT = T.RandomInvert(p=1)


@pytest.fixture
def pixels(make, tmp_path):
    (tmp_path / "photos" / "c").mkdir(parents=True)
    (tmp_path / "photos" / "c" / "0.png").write_bytes(make.png(0, 9, 9))
    return tmp_path / "photos"


def image_of(path, **options):
    with tundish.Loader(path, 1, backend="numpy", **options) as loader:
        return next(iter(loader))[0]


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize(
    "make_transforms",
    [
        lambda: (one for one in [INVERT]),
        lambda: iter([INVERT]),
        lambda: [T.RandomApply((one for one in [INVERT]), p=1)],
        lambda: [T.RandomOrder(iter([INVERT]))],
    ],
)
def test_every_transform_of_an_iterator_is_applied(pixels, make_transforms, as_dict):
    plain = image_of(pixels)
    with tundish.Loader(
        pixels, 1, backend="numpy", transforms=make_transforms(), as_dict=as_dict
    ) as loader:
        batch = next(iter(loader))
    np.testing.assert_array_equal(batch["image"] if as_dict else batch[0], 255 - plain)


def test_views_may_be_iterators(pixels):
    crop = T.CenterCrop(9)
    plain = image_of(pixels)
    views = ((one for one in steps) for steps in ([crop, INVERT], [crop]))
    first, second = image_of(pixels, views=views)
    np.testing.assert_array_equal(first, 255 - plain)
    np.testing.assert_array_equal(second, plain)


def test_apply_and_plan_take_iterators():
    image = np.full((8, 8, 3), 10, np.uint8)
    assert (T.apply((one for one in [INVERT]), image) == 245).all()
    held = T.RandomApply((one for one in [INVERT]), p=1)
    for _ in range(2):
        assert (T.apply([held], image) == 245).all()
