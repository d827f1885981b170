"""RecordIO files in MXNet's layout (tests/formats/recordio/make.py): content, damage, batches."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import tundish

from tests.helpers.format_batches import check_refused, check_same_batches, refusal
from tests.helpers.program import needs_program
from tests.helpers.sources import keys

pytestmark = needs_program
HERE = Path(__file__).parent.parent / "formats" / "recordio"
PIXELS = json.loads((HERE / "expected.json").read_text())["pixels"]
PLAIN = (HERE / "plain.rec").read_bytes()
MAGIC = PLAIN[:4]


@pytest.fixture
def copy(tmp_path):
    return lambda name: Path(shutil.copy(HERE / name, tmp_path / name))


@pytest.mark.parametrize("name", ["plain.rec", "parts.rec"])
def test_images_and_labels_are_read(name, copy, tmp_path):
    path = copy(name)
    for number, (image, label) in enumerate(tundish.Dataset(str(path))):
        assert image.tolist() == PIXELS[number]
        assert label == number * 2
    check_same_batches(path, tmp_path / "a.tnd")


def test_label_vectors_are_arrays(copy, tmp_path):
    batches = check_same_batches(copy("vectors.rec"), tmp_path / "a.tnd")
    found = [np.asarray(value).tolist() for batch in batches for value in batch["label"]]
    assert found == [[number / 4, 1.5, -2.0] for number in range(len(PIXELS))]


def test_the_idx_file_says_which_records(copy):
    path = copy("indexed.rec")
    assert len(keys(path)) == len(PIXELS)
    copy("indexed.idx")
    assert keys(path) == [b"7", b"8"]
    assert tundish.Dataset(str(path))[0][0].tolist() == PIXELS[3]


def part(kind, data=b"", length=None):
    length = len(data) if length is None else length
    return MAGIC + struct.pack("<I", kind << 29 | length) + data


BROKEN = {
    "cut off in the data": (PLAIN[:-9], "TND-314", "RecordIO: the last record is cut off: "),
    "cut off in a head": (PLAIN + MAGIC, "TND-314", "the head of the last record is cut off"),
    "a length that lies": (
        PLAIN + part(0, b"abcd", length=(1 << 29) - 1),
        "TND-314",
        "RecordIO: the last record is cut off: 4 bytes of 536,870,911",
    ),
    "a wrong magic": (
        PLAIN + b"12345678",
        "TND-314",
        "RecordIO: no record begins here: 34333231 instead of ced7230a",
    ),
    "the middle of a record first": (
        PLAIN + part(2),
        "TND-314",
        "RecordIO: a record begins with a part that is not its first",
    ),
    "no last part": (
        PLAIN + part(1) + part(2) + part(0),
        "TND-314",
        "RecordIO: a record of several parts has no last part",
    ),
    "an unknown part": (PLAIN + part(5), "TND-314", "a part that is not its first"),
    "no image": (part(0, b"text"), "TND-315", "RecordIO: its first record is neither an image nor"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name, tmp_path):
    check_refused(tmp_path / "broken.rec", *BROKEN[name])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\t0\n2\t8\n", "RecordIO: key '2': no record of "),
        ("1\t99999999999\n", "RecordIO: key '1': no record of "),
        ("1\t0\n1\t0\n", "RecordIO: key '1' occurs twice"),
        ("1 0\n", "RecordIO: line 1 is not KEY<tab>OFFSET"),
        ("1\t0\n..\t0\n", "RecordIO: line 2 is not KEY<tab>OFFSET"),
        ("1\t-1\n", "RecordIO: line 1 is not KEY<tab>OFFSET"),
    ],
)
def test_a_broken_idx_file_is_refused(text, reason, copy):
    path = copy("plain.rec")
    path.with_suffix(".idx").write_text(text)
    code, message = refusal(path)
    assert (code, reason in message) == ("TND-314", True), message


def test_a_record_without_its_labels_is_one_bad_sample(copy):
    path = copy("plain.rec")
    lies = struct.pack("<IfQQ", 0xFFFFFFFF, 0, 0, 0) + b"abcd"  # the flag is the number of labels
    path.write_bytes(PLAIN + part(0, lies) + PLAIN)
    data = tundish.Dataset(str(path))
    with pytest.raises(tundish.SampleError, match=r"TND-314[\s\S]*4,294,967,295 labels and an ima"):
        data[len(PIXELS)]
    assert data[len(PIXELS) + 1][0].tolist() == PIXELS[0]
