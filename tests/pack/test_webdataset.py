"""Archives that webdataset wrote (tests/formats/webdataset): packed, trained from, given back."""

import json
import tarfile

import numpy as np
import pytest
import tundish

from tests.helpers.format_batches import check_same_batches
from tests.helpers.program import ROOT, needs_program
from tests.helpers.sources import keys

pytestmark = needs_program

FOLDER = ROOT / "tests" / "formats" / "webdataset"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def check(path):
    assert keys(path) == [expected["key"].encode() for expected in EXPECTED]
    with tundish.Loader(path, 1, as_dict=True, backend="numpy") as loader:
        for sample, expected in zip(loader, EXPECTED, strict=True):
            pixels = np.array(expected["pixels"], np.uint8)
            np.testing.assert_array_equal(sample["image"][0].transpose(1, 2, 0), pixels)
            assert sample["label"].tolist() == [expected["label"]]
            assert sample["txt"] == [expected["txt"]]
            assert json.loads(sample["json"][0]) == expected["json"]
            np.testing.assert_array_equal(sample["box.npy"][0], np.float32(expected["box.npy"]))


@pytest.mark.parametrize("name", ["shard.tar", "shard.tar.gz"])
def test_its_pack_has_what_was_written(name, tmp_path):
    tundish.pack(FOLDER / name, tmp_path / "a.tnd", progress=False)
    check(tmp_path / "a.tnd")


def test_it_trains_as_its_pack(tmp_path):
    check(FOLDER / "shard.tar")
    batches = check_same_batches(FOLDER / "shard.tar", tmp_path / "a.tnd")
    labels = [label for batch in batches for label in batch["label"].tolist()]
    assert labels == [expected["label"] for expected in EXPECTED]


def test_what_is_compressed_cannot_be_trained_from():
    with pytest.raises(tundish.Error, match="TND-309"):
        tundish.Loader(FOLDER / "shard.tar.gz", 2)


def test_it_comes_back_as_it_was(tmp_path):
    tundish.pack(FOLDER / "shard.tar", tmp_path / "a.tnd", progress=False)
    tundish.convert(tmp_path / "a.tnd", tmp_path / "b.tar", "tar")

    def members(path):
        with tarfile.open(path) as archive:
            return {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}

    assert members(tmp_path / "b.tar") == members(FOLDER / "shard.tar")
