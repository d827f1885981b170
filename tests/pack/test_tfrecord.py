"""TFRecord files written by TensorFlow (tests/formats/tfrecord/make.py): content and damage."""

import gzip
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import tundish
from PIL import Image

from tests.helpers.format_batches import check_refused, check_same_batches
from tests.helpers.program import needs_program
from tests.helpers.record_files import masked_crc32c
from tests.helpers.sources import error_of, keys, packed

pytestmark = needs_program
HERE = Path(__file__).parent.parent / "formats" / "tfrecord"
EXPECTED = json.loads((HERE / "expected.json").read_text())
EXAMPLES = (HERE / "examples.tfrecord").read_bytes()


@pytest.fixture
def copy(tmp_path):
    return lambda name: Path(shutil.copy(HERE / name, tmp_path / name))


def joined(batches, name):
    return [value for batch in batches for value in batch[name]]


def head(length):
    length = struct.pack("<Q", length)
    return length + struct.pack("<I", masked_crc32c(length))


def record(data):
    return head(len(data)) + data + struct.pack("<I", masked_crc32c(data))


def test_examples_of_tensorflow_are_read_as_they_were_written(copy, tmp_path):
    path = copy("examples.tfrecord")
    for number, (image, label) in enumerate(tundish.Dataset(str(path))):
        assert image.tolist() == EXPECTED[number]["pixels"]
        assert label == EXPECTED[number]["label"]
    batches = check_same_batches(path, tmp_path / "a.tnd")
    for name in ("label", "image/filename", "box", "ids"):
        found = [np.asarray(value).tolist() for value in joined(batches, name)]
        assert found == [one[name] for one in EXPECTED]
    assert [list(value) for value in joined(batches, "hash")] == [one["hash"] for one in EXPECTED]
    assert (tmp_path / ".examples.tfrecord.tndx").exists()


def test_sequences_become_arrays_with_a_step_axis(copy, tmp_path):
    batches = check_same_batches(copy("sequences.tfrecord"), tmp_path / "a.tnd")
    found = [np.asarray(value).tolist() for value in joined(batches, "track")]
    assert found == [one["track"] for one in EXPECTED]


def test_a_compressed_file_is_packed_but_not_trained_from(copy):
    path = copy("examples.tfrecord.gz")
    pack = tundish.Dataset(str(packed(path)))
    assert [label for _, label in pack] == [one["label"] for one in EXPECTED]
    with pytest.raises(tundish.Error, match="TND-309"):
        tundish.Loader(str(path), 2)


def test_a_folder_of_files_is_one_data_set(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for number in range(2):
        shutil.copy(HERE / "examples.tfrecord", folder / f"train-0000{number}-of-00002")
    found = keys(folder)
    assert len(found) == 2 * len(EXPECTED)
    assert found[-1] == b"train-00001-of-00002/00000005"
    check_same_batches(folder, tmp_path / "a.tnd")


def test_a_pattern_that_takes_two_sets_of_one_name_is_refused(copy, tmp_path):
    """Files of an earlier conversion into another number of files hold the same samples."""
    data = copy("examples.tfrecord").read_bytes()
    folder = tmp_path / "sets"
    folder.mkdir()
    for name in ("a-00000-of-00001", "a-00000-of-00002", "a-00001-of-00002", "b-00000-of-00001"):
        (folder / name).write_bytes(data)
    code, message = error_of("info", f"{folder}/a-*", exit_code=1)
    assert code == "TND-315"
    assert "-of-00001 and -of-00002" in message
    assert len(tundish.Dataset(f"{folder}/*-of-00001")) == 2 * len(tundish.Dataset(f"{folder}/b*"))


def test_a_folder_of_compressed_files_is_packed(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for number in range(2):
        shutil.copy(HERE / "examples.tfrecord.gz", folder / f"train-0000{number}-of-00002")
    labels = [label for _, label in tundish.Dataset(str(packed(folder)))]
    assert labels == 2 * [one["label"] for one in EXPECTED]


def changed(offset):
    data = bytearray(EXAMPLES)
    data[offset] ^= 1
    return bytes(data)


FIRST = int.from_bytes(EXAMPLES[:8], "little") + 16  # size of the first record in bytes
EMPTY = record(b"")

BROKEN = {
    "cut off in the data": (EXAMPLES[:-1], "TND-314", "TFRecord: the last record is cut off: "),
    "cut off in a head": (
        EXAMPLES + head(9)[:7],
        "TND-314",
        "TFRecord: the head of the last record is cut off: 7 bytes of 12",
    ),
    "wrong checksum of a length": (
        changed(FIRST),
        "TND-314",
        "TFRecord: the checksum of a record's length is wrong: stored ",
    ),
    "a length that lies": (
        EXAMPLES + head(1 << 60) + b"abc",
        "TND-314",
        "TFRecord: the last record is cut off: 3 bytes of 1,152,921,504,606,846,980",
    ),
    "the largest length": (EXAMPLES + head(2**64 - 1), "TND-314", "the last record is cut off: 0 "),
    "no Example": (record(b"text"), "TND-314", "TFRecord: no tf.train.Example: "),
    "no features": (EMPTY, "TND-315", "TFRecord: its records have no features"),
    "gzip, cut off": (gzip.compress(EXAMPLES)[:-300], "TND-312", "the compressed data end early"),
    "gzip, a length that lies": (
        gzip.compress(EXAMPLES + head(1 << 40) + bytes(20 << 20)),
        "TND-314",
        "TFRecord: the last record is cut off: 20,971,520 bytes of 1,099,511,627,780",
    ),
    "gzip, many empty records": (
        gzip.compress(EXAMPLES + 500_000 * EMPTY),
        "TND-315",
        " records",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name, tmp_path):
    check_refused(tmp_path / "broken.tfrecord", *BROKEN[name])


def test_a_wrong_checksum_of_data_is_one_bad_sample(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(changed(FIRST + 100))
    data = tundish.Dataset(str(path))
    with pytest.raises(tundish.SampleError, match=r"TND-314[\s\S]*checksum of a record's data"):
        data[1]
    assert [data[i][1] for i in (0, 2, 3)] == [EXPECTED[i]["label"] for i in (0, 2, 3)]


def test_a_label_of_another_type_is_refused_with_the_names(copy):
    path = copy("examples.tfrecord")
    code, message = error_of("info", "--list", path, "--label", "box", exit_code=1)
    assert code == "TND-318"
    assert "'box' cannot be the label: its type is another; there are: image/class/label" in message
    code, message = error_of("info", "--list", path, "--image", "nothing", exit_code=1)
    assert (code, "there are: image/encoded" in message) == ("TND-318", True)


def test_the_fields_of_a_file_do_not_depend_on_earlier_openings(tmp_path):
    """Two files repeat each other's names, so together their names are fields, and are in both indexes."""
    shards = tmp_path / "shards"
    shards.mkdir()
    files = [shards / f"train-0000{number}-of-00002" for number in range(2)]
    for number, file in enumerate(files):
        folder = tmp_path / f"photos{number}"
        for name in ("cat", "dog"):
            (folder / name).mkdir(parents=True)
            level = np.full((4, 4, 3), number, np.uint8)
            Image.fromarray(level).save(folder / name / "1.png")
        tundish.convert(folder, file, "tfrecord")
    before = tundish.Loader(files[0], 1)
    state, keys_before = before.state_dict(), keys(files[0])
    together = tundish.Loader(shards, 1, as_dict=True)
    assert "image/filename" in next(iter(together))
    after = tundish.Loader(files[0], 1)
    after.load_state_dict(state)
    assert after.dataset.classes == ["cat", "dog"]
    assert keys(files[0]) == keys_before
    assert "image/filename" in next(iter(tundish.Loader(shards, 1, as_dict=True)))
