"""HDF5: h5py files with each filter, and files that crash the reading process."""

import os
import random
import warnings

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import check_same_batches, images, labels, pixels, unzip
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of
from tests.helpers.sources import tundish as program

pytestmark = needs_program

KINDS = ["contiguous", "chunked", "gzip", "shuffle_gzip", "lzf", "lz4", "blosc", "zstd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return unzip("hdf5/hdf5.zip", tmp_path_factory.mktemp("hdf5"))


@pytest.mark.parametrize("name", KINDS)
def test_every_filter_gives_the_pixels(folder, name):
    assert np.array_equal(pixels(tundish.DataSource(folder / "kinds.h5", image=name)), images())


def test_an_unsupported_layout_is_refused(folder):
    """libhdf5 2 writes the layout with libver="latest"; our libhdf5 is 1.10."""
    with pytest.raises(tundish.Error, match=r"TND-315(?s:.*)write the file with libver='v110'"):
        tundish.Dataset(tundish.DataSource(folder / "latest.h5", image="chunked"))


@pytest.mark.parametrize("axis", [1, -3])
def test_another_axis_counts_the_samples(folder, axis):
    found = pixels(tundish.DataSource(folder / "kinds.h5", image="contiguous", axis=axis))
    assert np.array_equal(found, np.moveaxis(images(), 1, 0))


def test_chunks_never_written_have_the_fill_value(folder):
    wanted = images()
    wanted[4:] = 9
    assert np.array_equal(pixels(folder / "missing.h5"), wanted)


@pytest.mark.filterwarnings("ignore:.*array words is left out. it holds texts")
@pytest.mark.filterwarnings("ignore:.*weights is left out. it has 5 samples, not 11")
def test_a_group_has_image_and_label_and_trains_as_its_pack(folder, tmp_path):
    file = folder / "group.h5"
    data = tundish.Dataset(file)
    assert [data[i][1] for i in range(len(data))] == labels().tolist()
    check_same_batches(file, tundish.DataSource(file), tmp_path)


def test_byte_strings_are_read_as_encoded_images(folder, tmp_path):
    file = folder / "strings.h5"
    assert np.array_equal(pixels(file), images())
    check_same_batches(file, tundish.DataSource(file), tmp_path)


def test_the_description_is_kept_beside_the_file(tmp_path):
    unzip("hdf5/hdf5.zip", tmp_path)
    first = pixels(tmp_path / "missing.h5")
    kept = tmp_path / ".missing.h5.tndx"
    assert kept.exists()
    damaged = bytearray(kept.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    kept.write_bytes(damaged)
    assert np.array_equal(pixels(tmp_path / "missing.h5"), first)


def test_a_filter_that_is_not_read_is_refused_by_its_number(folder):
    code, message = error_of("info", "--list", folder / "scaleoffset.h5", exit_code=1)
    assert code == "TND-315"
    assert "HDF5: image: filter 6" in message


@pytest.mark.parametrize("size", [512, 2048])
def test_a_user_block_is_refused_by_its_name(folder, tmp_path, size):
    file = tmp_path / "group.h5"
    file.write_bytes(bytes(size) + (folder / "group.h5").read_bytes())
    code, message = error_of("info", file, exit_code=1)
    assert code == "TND-315"
    assert "user block" in message


def test_an_ambiguous_file_is_refused_with_its_arrays(folder):
    code, message = error_of("info", "--list", folder / "kinds.h5", exit_code=1)
    assert code == "TND-318"
    assert "contiguous" in message
    assert "zstd" in message


@pytest.mark.filterwarnings("ignore:.*another name of")
def test_other_names_of_an_array_are_named(folder):
    """A hard link and a soft link: h5py lists both, the arrays are the same."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        loader = tundish.Loader(folder / "names.h5", 4, as_dict=True)
    texts = " ".join(str(warning.message) for warning in found)
    assert "array label is left out: it is another name of codes" in texts
    assert "array picture is left out: it is another name of image" in texts
    assert "codes" in next(iter(loader))
    with pytest.raises(tundish.Error, match=r"TND-315(?s:.*)label: it is another name of codes"):
        tundish.Dataset(tundish.DataSource(folder / "names.h5", label="label"))
    data = tundish.Dataset(tundish.DataSource(folder / "names.h5", label="codes"))
    assert data.targets == labels().tolist()


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    unzip("hdf5/hdf5.zip", tmp_path)
    file = tmp_path / "group.h5"
    file.write_bytes(file.read_bytes()[:3000])
    assert error_of("info", "--list", file, exit_code=3)[0] == "TND-314"


def test_the_death_of_the_reading_process_is_an_error_with_its_signal(folder, tmp_path):
    """Replaces the program that the library starts by one that dies."""
    script = tmp_path / "dies"
    script.write_text("#!/bin/sh\nkill -SEGV $$\n")
    script.chmod(0o755)
    unzip("hdf5/hdf5.zip", tmp_path)
    from tundish._c.library import lib
    from tundish.program import register_program

    lib.tundish_set_program(os.fsencode(script))
    try:
        with pytest.raises(tundish.Error, match=r"TND-317[\s\S]*signal 11 \(SEGV\)"):
            tundish.Dataset(tmp_path / "missing.h5")
    finally:
        register_program()


def test_changed_bytes_end_in_an_error_or_in_samples(tmp_path):
    unzip("hdf5/hdf5.zip", tmp_path)
    whole = (tmp_path / "latest.h5").read_bytes()
    draw = random.Random(1)
    codes = set()
    for n in range(20):
        data = bytearray(whole)
        for _ in range(8):
            data[draw.randrange(len(data))] = draw.randrange(256)
        file = tmp_path / f"changed{n}.h5"
        file.write_bytes(data)
        try:
            pixels(tundish.DataSource(file, image="chunked", format="hdf5"))
            codes.add(None)
        except tundish.Error as error:
            codes.add(str(error)[:7])
    assert codes <= {None, "TND-314", "TND-315", "TND-317", "TND-318", "TND-302"}, codes


def test_info_describes_a_file(folder):
    out = program("read-hdf5-structure", folder / "missing.h5").stdout
    assert out.startswith(b"TNDHDF52\x01\x00\x00\x00\x05\x00\x00\x00image")
