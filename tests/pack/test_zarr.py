"""Zarr 2 and 3: arrays written by zarr, and broken folders."""

import json
from shutil import copytree, rmtree

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import check_same_batches, images, labels, pixels, unzip
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of, exit_code_of, rows
from tests.helpers.sources import tundish as program

pytestmark = needs_program

ALONE_2 = [
    "raw",
    "zlib",
    "gzip",
    "zstd",
    "lz4",
    "bz2",
    "lzma",
    "blosc_lz4",
    "blosc_zstd_bits",
    "blosc_blosclz",
    "blosc_zlib",
]
ALONE_2 += ["fortran", "nested", "filter"]
ALONE_3 = ["raw", "gzip", "zstd_crc", "blosc", "transposed", "v2_keys", "sharded"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarr")
    return {n: unzip(f"zarr/zarr{n}.zip", folder / f"{n}") for n in (2, 3)}


@pytest.mark.parametrize(("version", "name"), [(2, n) for n in ALONE_2] + [(3, n) for n in ALONE_3])
def test_an_array_of_any_codec_gives_its_pixels(folders, version, name):
    assert np.array_equal(pixels(folders[version] / name), images())


def test_the_size_of_raw_pixels_is_known_without_reading_them(folders):
    found = rows(folders[2] / "raw")
    assert {(one["codec"], one["width"], one["height"]) for one in found} == {("raw", 5, 6)}


def test_chunks_that_are_missing_have_the_fill_value(folders):
    wanted = images()
    wanted[4:] = 9
    assert np.array_equal(pixels(folders[2] / "missing"), wanted)


@pytest.mark.filterwarnings("ignore:.*weights is left out. it has 5 samples, not 11")
@pytest.mark.parametrize("version", [2, 3])
def test_a_group_has_image_label_and_more_fields(folders, version, tmp_path):
    group = folders[version] / "group"
    data = tundish.Dataset(group)
    assert [data[i][1] for i in range(len(data))] == labels().tolist()
    assert np.array_equal(pixels(group), images())
    check_same_batches(group, tundish.DataSource(group), tmp_path)


@pytest.mark.parametrize("axis", [1, -3])
def test_another_axis_counts_the_samples(folders, axis):
    found = pixels(tundish.DataSource(folders[2] / "raw", axis=axis))
    assert np.array_equal(found, np.moveaxis(images(), 1, 0))


def test_unsupported_features_are_refused_by_name(folders, tmp_path):
    code, message = error_of("info", "--list", folders[2] / "delta", exit_code=1)
    assert code == "TND-315"
    assert "Zarr 2: filter 'delta'" in message


def test_a_damaged_chunk_is_one_bad_sample_and_names_its_file(tmp_path):
    unzip("zarr/zarr2.zip", tmp_path)
    chunk = tmp_path / "zlib" / "1.0.0.0"
    chunk.write_bytes(chunk.read_bytes()[:20])
    data = tundish.Dataset(tmp_path / "zlib")
    assert np.array_equal(data[0][0], images()[0])
    with pytest.raises(
        tundish.SampleError, match=r"(?s)1\.0\.0\.0.*gzip: the compressed data end too early"
    ):
        data[4]


@pytest.mark.parametrize("byte", [-1, -5, -4 - 16 * 4])  # in the checksum, the table, its start
def test_a_damaged_table_of_a_shard_is_noticed(byte, tmp_path):
    """The byte belongs to the table's checksum or to a chunk that is not read first."""
    unzip("zarr/zarr3.zip", tmp_path)
    shards = sorted(file for file in (tmp_path / "sharded" / "c").rglob("*") if file.is_file())
    data = bytearray(shards[0].read_bytes())
    data[byte] ^= 1
    shards[0].write_bytes(data)
    found = tundish.Dataset(tmp_path / "sharded")
    for sample in range(4):  # all samples of the shard
        with pytest.raises(
            tundish.SampleError, match=r"TND-314(?s:.*)the checksum of the shard's table is wrong"
        ):
            found[sample]
    assert np.array_equal(found[4][0], images()[4])


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        ({"chunks": [4, 6, 3]}, "TND-314", "different or too many axes"),
        ({"chunks": [0, 6, 3, 3]}, "TND-314", "a chunk has no elements"),
        ({"chunks": [2**40, 6, 3, 3]}, "TND-315", "chunks of more than"),
        ({"shape": [2**62, 2**62, 5, 3]}, "TND-314", "does not fit into 64 bits"),
        ({"dtype": "|O"}, "TND-315", "dtype '|O'"),
        ({"zarr_format": 7}, "TND-315", "'zarr_format' is another"),
        ({"order": "X"}, "TND-314", "neither C nor F"),
        ({"shape": [0, 6, 5, 3]}, "TND-302", "arrays are empty"),
    ],
)
def test_wrong_metadata_are_refused(change, code, reason, tmp_path):
    unzip("zarr/zarr2.zip", tmp_path)
    file = tmp_path / "raw" / ".zarray"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    found, message = error_of("info", "--list", tmp_path / "raw", exit_code=exit_code_of(code))
    assert (found, reason in message) == (code, True), message


def test_an_ambiguous_image_array_is_refused_with_the_choices(folders, tmp_path):
    code, message = error_of("info", "--list", folders[2] / "group", "--image=photos", exit_code=1)
    assert code == "TND-318"
    assert "image" in message
    rows = program("info", "--list", folders[2] / "group", "--json").stdout.decode().splitlines()
    assert len(rows) == 11


@pytest.mark.parametrize(("version", "file"), [(2, "image/.zarray"), (3, "x/zarr.json")])
def test_an_array_that_lost_its_metadata_is_named(folders, version, file, tmp_path):
    group = copytree(folders[version] / "group", tmp_path / "group")
    (group / file).unlink()
    said = program("pack", group, "-o", tmp_path / "a.tnd", "--dry-run").stderr.decode()
    assert f"the folder {file.split('/')[0]} is left out: it has chunks" in said


@pytest.mark.filterwarnings("ignore:.*is left out")
def test_a_group_with_labels_alone_is_not_packed(folders, tmp_path):
    group = copytree(folders[2] / "group", tmp_path / "group")
    (group / "image" / ".zarray").unlink()
    rmtree(group / "vector")
    target = tmp_path / "a.tnd"
    code, message = error_of("pack", group, "-o", target, exit_code=1)
    assert code == "TND-302"
    assert "its samples have labels and nothing else" in message
    assert "the folder image is left out" in message
    assert not target.exists()


def test_a_damaged_chunk_is_reported_once_for_all_its_samples(folders, tmp_path):
    array = copytree(folders[2] / "gzip", tmp_path / "gzip")
    (array / "0.0.0.0").write_bytes(b"no gzip")
    result = program("pack", array, "-o", tmp_path / "a.tnd", exit_code=3)
    said = result.stderr.decode()
    assert said.count("0.0.0.0: 0000") == 1
    assert "refused: 3 more for the same reason, to 00000003" in said
