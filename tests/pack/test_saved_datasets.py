"""Folders of Hugging Face's save_to_disk()."""

import datasets
import numpy as np
import pytest
import tundish

from tests.helpers.hugging_face import TURNED, encoded, on_disk
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of

pytestmark = needs_program


def test_python_packs_a_saved_dataset(tmp_path):
    saved = on_disk(tmp_path / "saved", [encoded(n) for n in range(20) if n != TURNED])
    report = tundish.pack(tmp_path / "saved", tmp_path / "a.tnd")
    assert report["samples"] == len(saved)
    found = tundish.Dataset(tmp_path / "a.tnd")
    assert found.targets == saved["label"][:]
    assert found.classes == ["a", "b", "c"]


def test_the_program_and_the_loader_name_the_line_that_packs_a_saved_dataset(tmp_path):
    on_disk(tmp_path / "saved")
    line = f"tundish.pack(datasets.load_from_disk('{tmp_path}/saved'), 'train.tnd')"
    words = ["pack", tmp_path / "saved", "-o", tmp_path / "a.tnd"]
    code, message = error_of(*words, exit_code=1)
    assert code == "TND-302"
    assert line in message
    with pytest.raises(tundish.Error) as error:
        tundish.Loader(tmp_path / "saved", 4)
    assert line in str(error.value)


def test_several_splits_need_a_choice(tmp_path):
    split = on_disk(tmp_path / "one")
    datasets.DatasetDict({"train": split}).save_to_disk(tmp_path / "saved")
    with pytest.raises(tundish.Error, match=r"choose a split: load_from_disk\(...\)\['train'\]"):
        tundish.pack(tmp_path / "saved", tmp_path / "a.tnd")


def pixels_of(dataset, mode):
    return [np.asarray(row["image"].convert(mode)) for row in dataset]


def test_images_turned_by_exif_data_are_named_with_the_remedy(tmp_path):
    saved = on_disk(tmp_path / "saved", [encoded(n) for n in (1, TURNED)])
    with pytest.warns(UserWarning, match="exif_orientation=True"):
        tundish.pack(saved, tmp_path / "a.tnd", progress=False)
    found = tundish.Dataset(tmp_path / "a.tnd", exif_orientation=True)
    for (image, _), expected in zip(found, pixels_of(saved, "RGB"), strict=False):
        assert np.array_equal(image, expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_a_column_with_a_mode_has_its_pixels(mode, tmp_path):
    saved = on_disk(tmp_path / "saved", [encoded(n, "PNG", "RGBA") for n in range(3)])
    saved = saved.cast_column("image", datasets.Image(mode=mode))
    tundish.pack(saved, tmp_path / "a.tnd", progress=False)
    loader = tundish.Loader(tmp_path / "a.tnd", 1, mode=mode, on_error="fail")
    for (images, _), expected in zip(loader, pixels_of(saved, mode), strict=True):
        pixels = images[0].permute(1, 2, 0).numpy()
        assert np.array_equal(pixels.reshape(expected.shape), expected)
    if mode == "L":  # in color, too: three equal channels
        image, _ = tundish.Dataset(tmp_path / "a.tnd")[0]
        assert np.array_equal(image, pixels_of(saved, "RGB")[0])
