"""N5 arrays written by z5py and zarr, and broken blocks."""

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import check_same_batches, images, labels, pixels, unzip
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of

pytestmark = needs_program

Z5 = ["raw", "gzip", "bzip2", "xz", "lz4", "blosc", "zstd"]
ZARR = ["raw", "gzip", "bz2", "xz", "lz4", "blosc", "zstd"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("n5")
    return {name: unzip(f"n5/{name}.zip", folder / name) for name in ("z5", "zarr")}


@pytest.mark.parametrize(("writer", "name"), [("z5", n) for n in Z5] + [("zarr", n) for n in ZARR])
def test_blocks_of_any_codec_give_their_pixels(folders, writer, name):
    assert np.array_equal(pixels(folders[writer] / f"{name}.n5"), images())


def test_a_group_trains_like_its_pack(folders, tmp_path):
    group = folders["z5"] / "group.n5"
    data = tundish.Dataset(group)
    assert [data[i][1] for i in range(len(data))] == labels().tolist()
    check_same_batches(group, tundish.DataSource(group), tmp_path)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (1, 1, "blocks of kind 1"),
        (3, 3, "another number of axes"),
        (7, 99, "a side of 99, blocks have 1 to 3"),
        (11, 0, "a side of 0"),
        (None, 10, "head is cut off"),
        (None, 40, "the chunk has 20 bytes, not"),
    ],
)
def test_a_block_with_wrong_sizes_is_one_bad_sample(at, value, reason, tmp_path):
    unzip("n5/z5.zip", tmp_path)
    block = tmp_path / "raw.n5" / "image" / "0" / "0" / "0" / "0"
    data = bytearray(block.read_bytes())
    if at is None:
        del data[value:]
    else:
        data[at] = value
    block.write_bytes(data)
    source = tundish.Dataset(tmp_path / "raw.n5")
    with pytest.raises(tundish.SampleError, match=reason):
        source[0]
    assert np.array_equal(source[8][0], images()[8])


def test_an_array_that_lost_its_attributes_is_named(tmp_path):
    folder = unzip("n5/zarr.zip", tmp_path) / "gzip.n5"
    (folder / "image" / "attributes.json").unlink()
    code, message = error_of("info", "--list", folder, exit_code=1)
    assert code == "TND-302"
    assert "the folder image is left out: it has chunks of an array, but no attr" in message
