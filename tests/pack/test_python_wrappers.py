"""`tundish.pack(dataset, ...)`: wrapped datasets, and values that may be labels."""

import numpy as np
import pytest
import torch
import tundish
from PIL import Image

from tests.helpers.program import needs_program
from tests.helpers.python_sets import Arrays, pixels

pytestmark = needs_program


def classes_of(dataset, tmp_path, **options):
    """Returns the names of the classes of the dataset's pack."""
    tundish.pack(dataset, tmp_path / "a.tnd", force=True, **options)
    return tundish.Dataset(tmp_path / "a.tnd").classes


class Wrapper(torch.utils.data.Dataset):
    """A dataset of the user around another one, with labels of its own."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        image, label = self.dataset[i]
        return image, 1 - label


def test_class_names_of_a_wrapped_dataset_are_not_used(tmp_path):
    """The wrapper may change the labels, as this one does."""
    with pytest.warns(UserWarning, match="wrapped Arrays are not used"):
        assert classes_of(Wrapper(Arrays(4)), tmp_path) == []
    assert classes_of(Wrapper(Arrays(4)), tmp_path, classes=["dog", "cat"]) == ["dog", "cat"]
    subset = torch.utils.data.Subset(torch.utils.data.Subset(Arrays(9), range(6)), [0, 3])
    assert classes_of(subset, tmp_path) == ["cat", "dog"]


@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_a_transparent_color_of_a_pillow_image_is_kept(mode, tmp_path):
    image = Image.fromarray(pixels(1)).convert(mode)
    image.info["transparency"] = image.getpixel((0, 0))
    tundish.pack([(image, 0)], tmp_path / "a.tnd")
    for loaded in ("RGB", "RGBA"):
        found = tundish.Dataset(tmp_path / "a.tnd", mode=loaded)[0][0]
        assert np.array_equal(found, np.asarray(image.convert(loaded)))


def test_a_data_loader_is_refused(tmp_path):
    loader = torch.utils.data.DataLoader(Arrays(4), 2)
    with pytest.raises(tundish.ArgumentError, match="yields batches"):
        tundish.pack(loader, tmp_path / "a.tnd")


def test_an_integer_that_is_not_called_a_label_is_named_with_the_option(tmp_path):
    samples = [{"img": pixels(i), "fine_label": i} for i in range(3)]
    with pytest.warns(UserWarning, match="If it is the label, give label='fine_label'"):
        tundish.pack(samples, tmp_path / "a.tnd")
    tundish.pack(samples, tmp_path / "a.tnd", label="fine_label", force=True)
    assert tundish.Dataset(tmp_path / "a.tnd").targets == [0, 1, 2]
