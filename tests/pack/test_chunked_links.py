"""Zarr and N5: symbolic links inside an array are refused, not followed or treated as missing."""

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import images, pixels, unzip
from tests.helpers.program import needs_program

pytestmark = needs_program

CHUNKS = {
    "zarr/zarr2.zip": ["raw/0.0.0.0", "nested/0/0/0/0", "nested/0"],
    "zarr/zarr3.zip": ["raw/c/0/0/0/0", "raw/c", "sharded/c/0/0/0/0"],
    "n5/z5.zip": ["raw.n5/image/0/0/0/0", "raw.n5/image/0"],
}
METADATA = {
    "zarr/zarr2.zip": "raw/.zarray",
    "zarr/zarr3.zip": "raw/zarr.json",
    "n5/z5.zip": "raw.n5/image/attributes.json",
}


def replace_by_link(path, elsewhere):
    """Moves a file or folder out of the array and leaves a link to the moved path."""
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("archive", "chunk"), [(archive, chunk) for archive in CHUNKS for chunk in CHUNKS[archive]]
)
@pytest.mark.parametrize("broken", [False, True])
def test_a_link_in_place_of_a_chunk_is_one_bad_sample(archive, chunk, broken, tmp_path):
    data = unzip(archive, tmp_path / "data")
    replace_by_link(data / chunk, tmp_path / "secret")
    if broken:
        (tmp_path / "secret").rename(tmp_path / "moved")
    source = tundish.Dataset(data / chunk.split("/")[0])
    with pytest.raises(tundish.SampleError, match=r"TND-303[\s\S]*symbolic link[\s\S]*cp -rL"):
        source[0]


@pytest.mark.parametrize("archive", METADATA)
def test_a_link_in_place_of_metadata_is_refused(archive, tmp_path):
    data = unzip(archive, tmp_path / "data")
    replace_by_link(data / METADATA[archive], tmp_path / "metadata")
    with pytest.raises(tundish.Error, match=r"TND-303[\s\S]*symbolic link"):
        tundish.Dataset(data / METADATA[archive].split("/")[0])


def test_a_link_to_the_array_itself_is_followed(tmp_path):
    data = unzip("zarr/zarr2.zip", tmp_path / "data")
    (tmp_path / "link").symlink_to(data / "raw")
    assert np.array_equal(pixels(tmp_path / "link"), images())
