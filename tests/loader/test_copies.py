"""Copies of a loader: copy, deepcopy and pickle."""

import copy
import pickle

import pytest
import tundish

from tests.helpers.loaders import SQUARE


class Shifted(tundish.Loader):
    """Adds a number to every label."""

    def __init__(self, path, shift):
        self.shift = shift
        super().__init__(path, batch_size=5, transforms=SQUARE)

    def __iter__(self):
        return ((images, labels + self.shift) for images, labels in super().__iter__())


def pickled(loader):
    return pickle.loads(pickle.dumps(loader))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_copies_of_a_subclass_are_of_that_subclass(photos, duplicate):
    loader = Shifted(photos.pack, 100)
    loader.name = "train"
    made = duplicate(loader)
    assert (type(made), made.name) == (Shifted, "train")
    assert [labels.tolist() for _, labels in made] == [labels.tolist() for _, labels in loader]
    assert duplicate(made).epoch == 1
