"""`tundish convert` of arrays: every element type, to every format and back."""

import io
import os
import tarfile

import numpy as np
import pytest
import tundish
from PIL import Image

from tests.helpers import record_files
from tests.helpers.files import png, tree, write
from tests.helpers.program import needs_program, result_json
from tests.helpers.program import tundish as program
from tests.helpers.sources import rows

pytestmark = needs_program


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """Arrays of every kind by name, and the .npz and pack that hold them."""
    root = tmp_path_factory.mktemp("arrays")
    random = np.random.default_rng(1)
    kept = {
        "image": random.integers(0, 256, (7, 6, 5, 3), np.uint8),
        "label": np.arange(7) % 3,
        "depth": random.normal(size=(7, 2, 3)).astype(np.float32),
        "exact": random.normal(size=(7, 4)),
        "mask": random.integers(-3, 300, (7, 4)).astype(np.int16),
        "half": random.normal(size=(7, 2)).astype(np.float16),
        "flags": random.integers(0, 2, (7, 3)).astype(bool),
        "weight": random.normal(size=7),
    }
    np.savez(root / "a.npz", **kept)
    program("pack", root / "a.npz", "-o", root / "a.tnd")
    return root, kept


def test_arrays_survive_npy(arrays, tmp_path):
    root, kept = arrays
    tundish.convert(root / "a.tnd", tmp_path / "n", "npy")
    assert {name[:-4] for name in os.listdir(tmp_path / "n")} == set(kept)
    for name, values in kept.items():
        found = np.load(tmp_path / f"n/{name}.npy")
        assert found.dtype == values.dtype
        assert np.array_equal(found, values)


def test_arrays_survive_hdf5(arrays, tmp_path):
    root, kept = arrays
    tundish.convert(root / "a.tnd", tmp_path / "a.h5", "hdf5")
    tundish.convert(tmp_path / "a.h5", tmp_path / "n", "npy")
    for name, values in kept.items():
        found = np.load(tmp_path / f"n/{name}.npy")
        assert found.dtype == values.dtype
        assert np.array_equal(found.reshape(values.shape), values)


def test_arrays_survive_tfrecord(arrays, tmp_path):
    root, kept = arrays
    tundish.convert(root / "a.tnd", tmp_path / "a.tfrecord", "tfrecord")
    found = record_files.tfrecords((tmp_path / "a.tfrecord").read_bytes())
    for i, record in enumerate(found):
        image = Image.open(io.BytesIO(record["image/encoded"]))
        assert np.array_equal(np.asarray(image), kept["image"][i])
        assert record["image/class/label"] == [kept["label"][i]]
        assert record["depth"] == kept["depth"][i].ravel().tolist()
        assert record["depth/shape"] == [2, 3]
        assert record["exact"] == kept["exact"][i].tobytes()
        assert record["mask"] == kept["mask"][i].tolist()
        assert record["half"] == kept["half"][i].tolist()
        assert record["flags"] == kept["flags"][i].tolist()
        assert float(record["weight"]) == kept["weight"][i]
    tundish.convert(tmp_path / "a.tfrecord", tmp_path / "n", "npy")
    for name in ("depth", "half", "mask", "flags"):  # TFRecord's lists change the element types
        again = np.load(tmp_path / f"n/{name}.npy")
        assert np.array_equal(again, kept[name])
    assert not list((tmp_path / "n").glob("*shape*"))


def test_arrays_survive_a_tar_and_a_folder(arrays, tmp_path):
    root, kept = arrays
    tundish.convert(root / "a.tnd", tmp_path / "a.tar", "tar")
    tundish.convert(root / "a.tnd", tmp_path / "f", "folder")
    with tarfile.open(tmp_path / "a.tar") as archive:
        members = {one.name: archive.extractfile(one).read() for one in archive}
    files = tree(tmp_path / "f")
    for i in range(7):
        for found in (members, {name.decode(): data for name, data in files.items()}):
            depth = np.load(io.BytesIO(found[f"{i:08}.depth.npy"]))
            assert np.array_equal(depth, kept["depth"][i])
            image = Image.open(io.BytesIO(found[f"{i:08}.png"]))
            assert np.array_equal(np.asarray(image), kept["image"][i])
        assert float(members[f"{i:08}.weight.txt"]) == kept["weight"][i]
    assert [row["label"] for row in rows(tmp_path / "f/list.csv")] == kept["label"].tolist()
    assert [row["label"] for row in rows(tmp_path / "a.tar")] == kept["label"].tolist()


def test_lmdb_has_raw_pixels_with_channels_first(arrays, tmp_path):
    root, kept = arrays
    report = tundish.convert(root / "a.tnd", tmp_path / "l", "lmdb")
    assert len(report["left_out"]) == 6
    assert "'depth'" in report["left_out"][0]
    found = record_files.lmdb((tmp_path / "l/data.mdb").read_bytes())
    for i, value in enumerate(map(record_files.datum, found.values())):
        planes = kept["image"][i].transpose(2, 0, 1)
        assert (value["channels"], value["height"], value["width"]) == planes.shape
        assert value["data"] == planes.tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype"), [((6, 5), np.uint8), ((6, 5), np.uint16), ((4, 6, 5), np.uint8)]
)
def test_raw_pixels_of_every_kind_become_pngs(tmp_path, shape, dtype):
    values = np.random.default_rng(2).integers(0, 256, (3, *shape)).astype(dtype)
    values *= 257 if dtype == np.uint16 else 1
    np.save(tmp_path / "x.npy", values)
    tundish.convert(tmp_path / "x.npy", tmp_path / "f", "folder")
    for i, wanted in enumerate(values):
        found = np.asarray(Image.open(tmp_path / f"f/{i:08}.png"))
        assert np.array_equal(found, wanted if len(shape) == 2 else wanted.transpose(1, 2, 0))


def test_label_vectors_keep_their_name_and_lost_class_names_are_reported(tmp_path):
    write(tmp_path / "1.png", png())
    (tmp_path / "v.csv").write_text("path,label:a,label:b\n1.png,0.5,1\n")
    for kind in ("tar", "tfrecord", "hdf5", "npy"):
        words = ["convert", tmp_path / "v.csv", "-o", tmp_path / f"v.{kind}", "--to", kind]
        left_out = result_json(*words)["left_out"]
        assert "the names of the 2 classes of the label vectors" in left_out, kind
    assert np.load(tmp_path / "v.npy" / "label.npy").tolist() == [[0.5, 1]]
