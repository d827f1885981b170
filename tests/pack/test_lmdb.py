"""LMDB files written by liblmdb (tests/formats/lmdb/make.py): content, damage, batches."""

import contextlib
import json
import pickle
import random
import shutil
import struct
from pathlib import Path

import pytest
import tundish

from tests.helpers.format_batches import check_refused, check_same_batches, refusal
from tests.helpers.program import needs_program
from tests.helpers.sources import keys
from tests.helpers.sources import tundish as program

pytestmark = needs_program
HERE = Path(__file__).parent.parent / "formats" / "lmdb"
EXPECTED = json.loads((HERE / "expected.json").read_text())
IMAGES = (HERE / "images.mdb").read_bytes()
PAGE = 4096


@pytest.fixture
def copy(tmp_path):
    return lambda name: Path(shutil.copy(HERE / name, tmp_path / name))


@pytest.mark.parametrize(("name", "first"), [("images.mdb", None), ("encoded.mdb", 10)])
@pytest.mark.filterwarnings("ignore:.*images alone")
def test_coded_images_are_read(name, first, copy, tmp_path):
    path = copy(name)
    assert keys(path) == [key.encode() for key in EXPECTED["keys"]]
    for number, (image, label) in enumerate(tundish.Dataset(str(path))):
        assert image.tolist() == EXPECTED["pixels"][number]
        assert label == (-1 if first is None else first + number)
    unlabeled = pytest.warns(UserWarning, match="no labels: its values are images alone")
    with unlabeled if first is None else contextlib.nullcontext():
        check_same_batches(path, tmp_path / "a.tnd")


def test_raw_datums_are_pixels(copy, tmp_path):
    (tmp_path / "set").mkdir()
    shutil.copy(HERE / "datums.mdb", tmp_path / "set" / "data.mdb")
    for number, (image, label) in enumerate(tundish.Dataset(str(tmp_path / "set"))):
        assert image.transpose(2, 0, 1).tolist() == EXPECTED["small"][number]
        assert label == number
    check_same_batches(tmp_path / "set", tmp_path / "a.tnd")
    assert not (tmp_path / "set" / "lock.mdb").exists()


def test_pickled_pairs_are_images_and_labels_in_the_order_of_the_list(copy, tmp_path):
    path = copy("pairs.mdb")
    assert keys(path) == [b"8", b"9", b"10", b"11"]
    found = [(image.tolist(), label) for image, label in tundish.Dataset(str(path))]
    assert found == list(zip(EXPECTED["pixels"], [3, 4, 5, 1], strict=True))
    check_same_batches(path, tmp_path / "a.tnd")


PAIRS = (HERE / "pairs.mdb").read_bytes()
FIRST = PAIRS.index(b"\x80\x02c_codecs")  # pickle of sample '8'


def with_pickle(data, at=FIRST):
    return PAIRS[:at] + data + PAIRS[at + len(data) :]


@pytest.mark.parametrize("place", [FIRST, PAIRS.index(b"__keys__") + 8])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (b"cos\nsystem\n(S'touch x'\ntR.", "os.system"),
        (b"(S'touch x'\nios\nsystem\n.", "os.system"),
        (b"\x8c\x02os\x8c\x06system\x93\x8c\x07touch x\x85R.", "os.system"),
    ],
)
def test_nothing_in_a_pickle_is_executed(call, name, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = with_pickle(b"\x80\x04" + call, place)
    check_refused(tmp_path / "data.mdb", data, "TND-315", f"{name}, which is not on the list")
    assert not Path("x").exists()


def test_a_hostile_pickle_behind_good_ones_is_one_bad_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = PAIRS.index(b"\x80\x03")  # pickle of sample '9'
    Path("data.mdb").write_bytes(with_pickle(b"\x80\x03cos\nsystem\n(S'touch x'\ntR.", place))
    data = tundish.Dataset("data.mdb")
    with pytest.raises(tundish.SampleError, match=r"TND-315[\s\S]*it names os.system"):
        data[1]
    assert data[2][0].tolist() == EXPECTED["pixels"][2]
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (pickle.dumps("text"), "TND-315", "LMDB: pickle: it is not (bytes of an image file, label"),
        (pickle.dumps((b"x", "cat")), "TND-315", "it is not (bytes of an image file, label"),
        (pickle.dumps((b"", 1)), "TND-314", "LMDB: pickle: the image is empty"),
        (b"\x80\x03B\xff\xff\xff\xff", "TND-314", "LMDB: pickle: the bytes end early"),
        (b"\x80\x04]\x94h\x00h\x00\x86.", "TND-315", "it is not (bytes of an image file, label"),
    ],
)
def test_a_hostile_pickle_is_refused(data, code, reason, tmp_path):
    check_refused(tmp_path / "data.mdb", with_pickle(data), code, reason)


def number(data, at, form="<H"):
    return struct.unpack_from(form, data, at)[0]


# The file has one branch, two leaves, and a value of two pages.
META = PAGE if number(IMAGES, PAGE + 144, "<Q") > number(IMAGES, 144, "<Q") else 0
ROOT = number(IMAGES, META + 128, "<Q")


def node(page, entry):
    """Returns the file offset of a page's entry."""
    return page * PAGE + number(IMAGES, page * PAGE + 16 + 2 * entry)


LEAVES = [number(IMAGES, node(ROOT, entry), "<I") for entry in (0, 1)]
LONG = node(LEAVES[1], number(IMAGES, LEAVES[1] * PAGE + 12) // 2 - 9)  # the last entry
LONG_PAGE = LONG + 8 + number(IMAGES, LONG + 6)


def changed(*changes):
    """Returns the file with changed numbers: (offset, form, value)."""
    data = bytearray(IMAGES)
    for at, form, value in changes:
        struct.pack_into(form, data, at, value)
    return bytes(data)


BROKEN = {
    "no head": (changed((16, "<I", 0), (PAGE + 16, "<I", 0)), "TND-304", ""),
    "a head without pages": (
        IMAGES[:PAGE],
        "TND-314",
        "LMDB: one of its two heads is damaged or cut off, and the other one has no values",
    ),
    "cut off": (IMAGES[: -2 * PAGE], "TND-314", "LMDB: page "),
    "another version": (
        changed((20, "<I", 2), (PAGE + 20, "<I", 2)),
        "TND-315",
        "LMDB: data version 2, not 1",
    ),
    "several values per key": (
        changed((META + 92, "<H", 4)),
        "TND-315",
        "LMDB: it has several values per key (DUPSORT)",
    ),
    "a number of values that lies": (
        changed((META + 120, "<Q", 1 << 60)),
        "TND-314",
        "LMDB: it has 6 values, its head says 1152921504606846976",
    ),
    "a page of no kind": (
        changed((ROOT * PAGE + 10, "<H", 0)),
        "TND-314",
        f"LMDB: page {ROOT} is no branch or leaf of the tree",
    ),
    "a cycle": (
        changed((node(ROOT, 0), "<I", ROOT)),
        "TND-314",
        f"LMDB: page {ROOT} is used twice (a cycle or an overlap)",
    ),
    "a leaf twice": (
        changed((node(ROOT, 0), "<I", LEAVES[1])),
        "TND-314",
        f"LMDB: page {LEAVES[1]} is used twice (a cycle or an overlap)",
    ),
    "a page outside the file": (
        changed((node(ROOT, 0), "<I", 0xFFFFFFFF)),
        "TND-314",
        f"LMDB: page {ROOT} refers to 1 page from page 4294967295, the file has 7 pages",
    ),
    "a value that is a leaf": (
        changed((LONG_PAGE, "<Q", LEAVES[0])),
        "TND-314",
        "is used twice (a cycle or an overlap)",
    ),
    "a long value that lies": (
        changed((LONG, "<I", 0xFFFFFFFF)),
        "TND-314",
        f"LMDB: page {LEAVES[1]} refers to 1048577 pages from page ",
    ),
    "a short value that lies": (
        changed((node(LEAVES[0], 1), "<I", 0xFFFFFFFF)),
        "TND-314",
        f"LMDB: entry 1 of page {LEAVES[0]} is outside the page, or overlaps another",
    ),
    "entries that overlap": (
        changed((LEAVES[0] * PAGE + 18, "<H", number(IMAGES, LEAVES[0] * PAGE + 16))),
        "TND-314",
        f"LMDB: entry 1 of page {LEAVES[0]} is outside the page, or overlaps another",
    ),
    "bounds that lie": (
        changed((LEAVES[0] * PAGE + 12, "<H", 0xFFFF)),
        "TND-314",
        f"LMDB: page {LEAVES[0]} is no branch or leaf of the tree",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name, tmp_path):
    check_refused(tmp_path / "data.mdb", *BROKEN[name])


def test_a_large_sparse_file_takes_no_memory(tmp_path):
    """The meta page claims pages of a sparse 4 TiB file."""
    path = tmp_path / "data.mdb"
    with path.open("wb") as file:
        file.write(changed((META + 136, "<Q", 1 << 50), (META + 128, "<Q", 1 << 20)))
        file.truncate(1 << 42)
    code, message = refusal(path)
    assert (code, "is no branch or leaf" in message) == ("TND-314", True), message


def test_a_datum_with_wrong_sizes_is_one_bad_sample(copy):
    path = copy("datums.mdb")
    data = path.read_bytes()
    place = data.index(b"\x08\x03\x10\x04\x18\x05\x22\x3c")  # 3 x 4 x 5: 60 bytes
    path.write_bytes(data[: place + 5] + b"\x7f" + data[place + 6 :])
    found = tundish.Dataset(str(path))
    errors = []
    for i in range(len(found)):
        try:
            assert found[i][1] == i
        except tundish.SampleError as error:
            errors.append(str(error))
    assert len(errors) == 1
    assert "TND-314" in errors[0]
    assert "no Caffe Datum: 3 x 4 x 127 values, but 60 are stored" in errors[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_changed_bytes_end_in_an_error_or_in_samples(tmp_path):
    draw = random.Random(1)
    codes = set()
    for round in range(200):
        data = bytearray(IMAGES)
        for _ in range(4):  # change headers of pages and entries, not pixels
            page = draw.choice([0, 1, ROOT, *LEAVES, number(IMAGES, LONG_PAGE, "<Q")])
            data[page * PAGE + draw.randrange(160)] = draw.randrange(256)
        path = tmp_path / f"{round}.mdb"
        path.write_bytes(data)
        try:
            found = tundish.Dataset(tundish.DataSource(path, format="lmdb"))
            assert all(found[i][0].shape[0] == 9 for i in range(len(found)))
            codes.add("read")
        except tundish.Error as error:
            codes.add(str(error)[:7])
    assert {"read", "TND-314"} <= codes
    image = {"TND-310", "TND-401", "TND-403", "TND-405", "TND-406"}  # the changed bytes were pixels
    assert codes <= {"read", "TND-302", "TND-314", "TND-315", *image}, codes


def test_a_damaged_head_beside_a_good_one_is_a_warning(tmp_path):
    older = PAGE - META
    (tmp_path / "data.mdb").write_bytes(changed((older + 16, "<I", 0)))
    said = program("pack", tmp_path, "-o", tmp_path / "a.tnd", "--dry-run").stderr.decode()
    assert "one of its two heads is damaged; the samples are those of the other one" in said
