"""Archives written by webdataset (tests/formats/webdataset): packing, training, unpacking."""

import io
import json
import tarfile

import numpy as np
import pytest
import tundish

from tests.helpers.format_batches import check_same_batches
from tests.helpers.program import ROOT, needs_program
from tests.helpers.sources import image, keys

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
def test_the_pack_has_the_written_samples(name, tmp_path):
    tundish.pack(FOLDER / name, tmp_path / "a.tnd", progress=False)
    check(tmp_path / "a.tnd")


def test_an_archive_trains_like_its_pack(tmp_path):
    check(FOLDER / "shard.tar")
    batches = check_same_batches(FOLDER / "shard.tar", tmp_path / "a.tnd")
    labels = [label for batch in batches for label in batch["label"].tolist()]
    assert labels == [expected["label"] for expected in EXPECTED]


def test_compressed_archives_cannot_be_trained_from():
    with pytest.raises(tundish.Error, match="TND-309"):
        tundish.Loader(FOLDER / "shard.tar.gz", 2)


def test_an_archive_is_restored_unchanged(tmp_path):
    tundish.pack(FOLDER / "shard.tar", tmp_path / "a.tnd", progress=False)
    tundish.convert(tmp_path / "a.tnd", tmp_path / "b.tar", "tar")

    def members(path):
        with tarfile.open(path) as archive:
            return {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}

    assert members(tmp_path / "b.tar") == members(FOLDER / "shard.tar")


def shards(folder, numbers):
    """Returns one archive per sample, as a writer with a small maxcount creates them."""
    folder.mkdir()
    with tarfile.open(FOLDER / "shard.tar") as archive:
        members = [(one, archive.extractfile(one).read()) for one in archive if one.isreg()]
    stems = list(dict.fromkeys(one.name.split(".")[0] for one, _ in members))
    for number in numbers:
        with tarfile.open(folder / f"train-{number:06}.tar", "w") as shard:
            for one, data in members:
                if one.name.split(".")[0] == stems[number]:
                    shard.addfile(one, io.BytesIO(data))
    return len(stems)


@pytest.mark.parametrize("pattern", ["", "/train-*.tar", "/train-{000000..00000N}.tar"])
def test_shards_are_one_data_set(pattern, tmp_path):
    last = shards(tmp_path / "s", range(len(EXPECTED))) - 1
    path = str(tmp_path / "s") + pattern.replace("N", str(last))
    check(path)
    tundish.pack(path, tmp_path / "a.tnd", progress=False)
    check(tmp_path / "a.tnd")


def test_shards_that_convert_wrote_keep_the_names_of_classes(tmp_path):
    for name in ("cat", "dog", "owl"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        (tmp_path / "photos" / name / "1.png").write_bytes(image(1))
    tundish.convert(tmp_path / "photos", tmp_path / "s.tar", "tar", shards=3)
    with tundish.Loader(tmp_path / "s-{000000..000002}.tar", 3, backend="numpy") as loader:
        ((_, labels),) = loader
        assert loader.classes == ["cat", "dog", "owl"]
    assert labels.tolist() == [0, 1, 2]


def test_a_missing_shard_is_an_error(tmp_path):
    shards(tmp_path / "s", [0])
    with pytest.raises(tundish.Error, match="TND-301") as caught:
        tundish.Loader(tmp_path / "s" / "train-{000000..000001}.tar", 2)
    assert "train-000001.tar" in str(caught.value)
