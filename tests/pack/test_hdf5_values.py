"""HDF5 values equal h5py's for each chunk index, fill value and type; other files stay closed."""

import os
import subprocess
import warnings

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import unzip
from tests.helpers.peak_memory import peak_memory
from tests.helpers.program import PROGRAM, needs_program
from tests.siege.originals.case import Case
from tests.siege.originals.compare import check
from tests.siege.originals.values import expected, is_picture

pytestmark = needs_program
RANDOM = 60  # number of files of tests/formats/hdf5/make_random.py


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("values")
    unzip("hdf5/random.zip", folder)
    unzip("hdf5/values.zip", folder)
    return folder


@pytest.mark.parametrize("number", range(RANDOM))
def test_chunks_of_every_index_are_where_h5py_finds_them(folder, number):
    """Covers both B-tree versions, fixed and extensible arrays, single and implicit chunks."""
    path = folder / f"random{number:02}.h5"
    values = np.load(path.with_suffix(".npy"))
    name = "image" if is_picture(values) else "?"
    assert check(Case(path, expected({name: values}, numbers=False))) == []


def read(path, **options):
    """Returns all fields, and the warnings of opening."""
    source = tundish.DataSource(path, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with tundish.Loader(source, 10, shuffle=False, as_dict=True) as loader:
            (batch,) = loader
    return {name: value.numpy() for name, value in batch.items()}, [str(w.message) for w in caught]


def check_values(folder, name):
    found, said = read(folder / f"{name}.h5")
    wanted = dict(np.load(folder / f"{name}.npz"))
    assert found.keys() == wanted.keys()
    for field, values in wanted.items():
        assert found[field].dtype == values.dtype.newbyteorder("="), field
        np.testing.assert_array_equal(found[field], values, field)
    return said


def test_enumerations_of_bytes_are_numbers_unless_they_are_the_bool_of_h5py(folder):
    assert check_values(folder, "enumerations") == []


def test_fill_values_of_every_type_are_read(folder):
    assert check_values(folder, "fills") == []


def test_floats_that_are_not_ieee_are_left_out_with_a_warning(folder):
    said = check_values(folder, "floats")
    assert len(said) == 2
    for text, name in zip(said, ("bias", "narrow"), strict=True):
        assert f"array {name} is left out: its floats are not IEEE 754" in text


def test_arrays_without_numbers_are_omitted_with_a_warning(folder):
    said = check_values(folder, "others")
    reasons = {
        "compound": "its elements are compounds: write a dataset for each part",
        "ragged": "its elements have different lengths",
        "reference": "it holds references",
        "rows": "its elements are arrays: write it with one axis more",
        "text": "it holds texts",
        "void": "its elements are no numbers",
    }
    assert len(said) == len(reasons)
    for text, (name, reason) in zip(said, reasons.items(), strict=True):
        assert text.endswith(f"array {name} is left out: {reason}")


def test_an_array_without_numbers_that_is_named_is_refused_with_the_reason(folder):
    with pytest.raises(tundish.Error, match=r"TND-315[\s\S]*compound: its elements are compounds"):
        read(folder / "others.h5", label="compound")


ELSEWHERE = {
    "virtual": ["label: it is virtual, of other files, which are never opened"],
    "external": [
        "label: its values are in other files, which are never opened",
        "link: it is a link to another file, which are never opened",
    ],
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_file_that_is_named_in_another_file_is_not_opened(folder, tmp_path, name):
    """The named file is a FIFO, which would block a reader."""
    path = tmp_path / "a.h5"
    path.write_bytes((folder / f"{name}.h5").read_bytes())
    os.mkfifo(tmp_path / "other")
    words = [PROGRAM, "info", "--list", path, "--json"]
    result = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert b"TND-315" in result.stdout
    assert ELSEWHERE[name][0].encode() in result.stdout
    found, said = read(path, image="image")
    assert found["image"].shape == (4, 3, 3, 3)
    for reason in ELSEWHERE[name]:
        assert f"array {reason.replace(':', ' is left out:', 1)}" in "\n".join(said)


def test_a_file_with_many_chunks_is_opened_in_one_pass(tmp_path):
    """libhdf5 walks over the whole chunk index for each chunk: 50,000 chunks took minutes."""
    path = unzip("hdf5/chunks.zip", tmp_path) / "chunks.h5"
    peak_memory("info", path, cpu_limit_s=20)
