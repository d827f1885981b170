"""Folders of Hugging Face's save_to_disk()."""

import datasets
import pytest
import tundish

from tests.helpers.hugging_face import on_disk
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of

pytestmark = needs_program


def test_python_packs_a_saved_dataset(tmp_path):
    saved = on_disk(tmp_path / "saved")
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
