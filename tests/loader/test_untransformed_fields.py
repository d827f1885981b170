"""Masks and boxes beside a flipped or cropped image are refused, because they would not match."""

import io

import numpy as np
import pytest
import tundish
from tundish import transforms as T

IN_PLACE = [T.ColorJitter(0.4), T.RandomErasing(), T.ToDtype("float32", scale=True), T.Normalize()]
MOVES = [
    T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(),
    T.RandomResizedCrop(16),
    T.RandomCrop(16),
    T.CenterCrop(16),
    T.Resize((8, 8)),
    T.Pad(2),
    T.RandomRotation(10),
    T.RandomAffine(10),
    T.RandomPerspective(),
    T.ElasticTransform(),
    T.RandAugment(),
    T.AutoAugment(),
    T.TrivialAugmentWide(),
    T.AugMix(),
    T.MixUp(),
    T.CutMix(),
    T.RandomApply([T.RandomGrayscale(), T.RandomHorizontalFlip()]),
    T.RandomOrder([T.RandomChoice([T.RandomVerticalFlip(), T.RandomInvert()])]),
]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.fixture(params=["one shape", "several shapes"])
def tar(request, make, tmp_path):
    """Images of 20x20 pixels, each with a mask, a label and a text."""
    members = {}
    for number in range(4):
        size = 20 if request.param == "one shape" else 20 + number
        members[f"{number}.png"] = make.png(number, 20, 20)
        members[f"{number}.cls"] = b"1"
        members[f"{number}.txt"] = b"a text"
        members[f"{number}.mask.npy"] = npy(np.full((size, 20), number, np.uint8))
    return make.tar(tmp_path / "shard.tar", members)


def field_of(path):
    """Returns the field name of the mask."""
    batch = next(iter(tundish.Loader(path, 4, as_dict=True)))
    (name,) = set(batch) - {"image", "label", "txt"}
    return name


@pytest.mark.parametrize("move", MOVES, ids=lambda move: type(move).__name__)
def test_a_transform_that_moves_pixels_is_refused_beside_an_array(make, tar, tmp_path, move):
    name = field_of(tar)
    for path in (tar, make.pack(tar, tmp_path / "shard.tnd")):
        for options in ({"transforms": [T.RandomInvert(), move]}, {"views": [[], [move]]}):
            with pytest.raises(ValueError, match=rf"(?s)array field '{name}'.*untransformed=\('"):
                tundish.Loader(path, 2, as_dict=True, **options)


@pytest.mark.parametrize("option", [{"pad_to": 32}, {"exif_orientation": True}], ids=str)
def test_options_that_move_pixels_are_refused_too(tar, option):
    with pytest.raises(ValueError, match=f"{next(iter(option))} changes the geometry"):
        tundish.Loader(tar, 2, as_dict=True, **option)


def test_a_named_field_is_delivered_as_stored(tar):
    name = field_of(tar)
    flip = [T.RandomHorizontalFlip(p=1)]
    with tundish.Loader(tar, 4, transforms=flip, as_dict=True, untransformed=[name]) as loader:
        (batch,) = loader
    assert [int(np.asarray(mask)[0, 0]) for mask in batch[name]] == [0, 1, 2, 3]


def test_transforms_that_keep_pixels_in_place_are_allowed(tar):
    (batch,) = tundish.Loader(tar, 4, transforms=IN_PLACE, as_dict=True)
    assert len(batch[field_of(tar)]) == 4
    images, labels = next(iter(tundish.Loader(tar, 4, transforms=[T.RandomCrop(16)])))
    assert images.shape[2:] == (16, 16)
    assert labels.tolist() == [1, 1, 1, 1]


def test_every_transform_is_classified():
    """A new transform counts as moving pixels until it is listed."""
    from tundish.data.batch.untransformed_fields import _IN_PLACE, _LISTS

    known = {name for name in vars(T) if isinstance(getattr(T, name), type)}
    assert known >= _IN_PLACE | _LISTS
    assert {type(one).__name__ for one in IN_PLACE} <= _IN_PLACE


def test_a_name_that_is_not_a_field_is_refused(tar):
    with pytest.raises(ValueError, match="untransformed names 'depth', which is not a field"):
        tundish.Loader(tar, 2, as_dict=True, untransformed=["depth"])
    with pytest.raises(TypeError, match="a list of names"):
        tundish.Loader(tar, 2, as_dict=True, untransformed="mask")
