"""Samples of CIFAR, MNIST, NumPy, safetensors and torch files, read directly and from a pack."""

import gzip
import json
import pickle
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
import tundish
from tundish.data.batch.untransformed_fields import array_fields
from tundish.data.open_source import as_source as opened_source

from tests.helpers.loaders import opened
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of, packed
from tests.helpers.sources import tundish as program

pytestmark = [
    needs_program,
    pytest.mark.filterwarnings("ignore:.*this is its training set"),
    pytest.mark.filterwarnings("ignore:.*2 of the 5 files of the training set"),
]

FORMATS = Path(__file__).parents[1] / "formats"
PTH = FORMATS / "pth"
EXPECTED = np.load(PTH / "expected.npz")  # expected content of all FORMATS files that are read here
RANDOM = np.random.default_rng(1)
IMAGES = RANDOM.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9])


def same(path, images, labels, scores=None):
    """Checks the samples of a path and of its pack, and that both give the same batches."""
    pack = packed(path)
    for source in (path, pack):
        data = tundish.Dataset(source)
        assert data.targets == list(labels)
        for number, image in enumerate(images):
            rgb = image if image.ndim == 3 else np.stack([image] * 3, -1)
            np.testing.assert_array_equal(data[number][0], rgb)
    count = 0
    for one, other in zip(batches(path), batches(pack), strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert one[name].dtype == other[name].dtype
            assert torch.equal(one[name], other[name])
        size = len(next(iter(one.values())))
        if scores is not None:
            np.testing.assert_array_equal(one["scores"], scores[count : count + size])
        count += size
    assert count == len(images)


def batches(path):
    return opened(path, 4, as_dict=True, untransformed=array_fields(opened_source(path)))


def copied(path, folder):
    """Copies a file, so that no pack is written among the test files."""
    return Path(shutil.copy(path, folder))


def planes():
    """Returns CIFAR's rows: all red values, then all green values, then all blue values."""
    return IMAGES.transpose(0, 3, 1, 2).reshape(6, 3072)


def write_cifar(folder):
    rows = [bytes([label]) + row.tobytes() for label, row in zip(LABELS, planes(), strict=True)]
    (folder / "data_batch_1.bin").write_bytes(b"".join(rows[:4]))
    (folder / "data_batch_2.bin").write_bytes(b"".join(rows[4:]))
    (folder / "batches.meta.txt").write_text("\n".join("abcdefghij"))


def write_cifar_100(folder):
    rows = [
        bytes([label // 2, label]) + row.tobytes()
        for label, row in zip(LABELS, planes(), strict=True)
    ]
    (folder / "train.bin").write_bytes(b"".join(rows))
    (folder / "fine_label_names.txt").write_text("\n".join("abcdefghij"))


def write_cifar_python(folder, protocol=4):
    for number, part in ((1, slice(0, 4)), (2, slice(4, 6))):
        batch = {b"data": planes()[part], b"labels": LABELS[part].tolist(), b"batch_label": b"one"}
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(batch, protocol))
    names = {"label_names": list("abcdefghij"), "num_vis": 3072}
    (folder / "batches.meta").write_bytes(pickle.dumps(names, 2))


def write_cifar_100_python(folder):
    fine, coarse = LABELS.tolist(), (LABELS // 2).tolist()
    train = {b"data": planes(), b"fine_labels": fine, b"coarse_labels": coarse}
    (folder / "train").write_bytes(pickle.dumps(train, 2))
    names = {"fine_label_names": list("abcdefghij"), "coarse_label_names": list("abcde")}
    (folder / "meta").write_bytes(pickle.dumps(names, 2))


@pytest.mark.parametrize(
    "write", [write_cifar, write_cifar_100, write_cifar_python, write_cifar_100_python]
)
def test_cifar_files_are_read(write, tmp_path):
    folder = tmp_path / "cifar"
    folder.mkdir()
    write(folder)
    same(folder, IMAGES, LABELS)
    assert tundish.Dataset(folder).classes == list("abcdefghij")
    if "100" in write.__name__:
        (batch,) = opened(folder, 6, as_dict=True)
        assert batch["coarse_label"].tolist() == (LABELS // 2).tolist()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 5])
def test_pickled_cifar_of_any_protocol_is_read(protocol, tmp_path):
    write_cifar_python(tmp_path, protocol)
    data = tundish.Dataset(tmp_path)
    assert data.targets == LABELS.tolist()
    np.testing.assert_array_equal(np.stack([data[i][0] for i in range(6)]), IMAGES)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_mnist_files_are_read(ending, tmp_path):
    gray = IMAGES[..., 0]
    write = gzip.compress if ending else bytes
    head = struct.pack(">IIII", 0x803, *gray.shape)
    (tmp_path / f"t10k-images-idx3-ubyte{ending}").write_bytes(write(head + gray.tobytes()))
    labels = struct.pack(">II", 0x801, 6) + LABELS.astype(np.uint8).tobytes()
    (tmp_path / f"t10k-labels-idx1-ubyte{ending}").write_bytes(write(labels))
    same(tmp_path / f"t10k-images-idx3-ubyte{ending}", gray, LABELS)


@pytest.mark.parametrize("write", [write_cifar, write_cifar_100, write_cifar_python])
def test_a_cifar_folder_without_class_names_is_read(write, tmp_path):
    write(tmp_path)
    for name in ("batches.meta.txt", "fine_label_names.txt", "batches.meta"):
        (tmp_path / name).unlink(missing_ok=True)
    data = tundish.Dataset(tmp_path)
    assert (data.targets, data.classes) == (LABELS.tolist(), [])


def warnings_of(folder):
    """Returns the warnings of `tundish pack`."""
    found = program("pack", folder, "-o", folder / "a.tnd", "--dry-run", "--json").stdout
    return " / ".join(json.loads(found)["warnings"])


def test_a_folder_names_its_test_set_and_what_is_missing(tmp_path):
    write_cifar_python(tmp_path)
    assert "this is its training set" not in warnings_of(tmp_path)
    assert "missing: data_batch_3, data_batch_4, data_batch_5" in warnings_of(tmp_path)
    (tmp_path / "data_batch_1").rename(tmp_path / "test_batch")
    assert "the test set is the file test_batch /" in warnings_of(tmp_path)
    (tmp_path / "data_batch_2").unlink()
    code, message = error_of("info", "--list", tmp_path, exit_code=1)
    assert (code, f"its test set is the file {tmp_path}/test_batch" in message) == ("TND-302", True)


def write_idx(path, array):
    head = struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))


@pytest.mark.parametrize("name", ["t10k", "emnist-letters-train"])
def test_a_folder_of_idx_files_names_what_it_has(name, tmp_path):
    images = tmp_path / f"{name}-images-idx3-ubyte.gz"
    write_idx(images, IMAGES[..., 0])
    code, message = error_of("info", "--list", tmp_path, exit_code=1)
    assert (code, f"give one of its files: {images}" in message) == ("TND-302", True)
    write_idx(tmp_path / "train-images-idx3-ubyte.gz", IMAGES[..., 0])
    names_it = "the test set is the file t10k-images-idx3-ubyte.gz" in warnings_of(tmp_path)
    assert names_it == (name == "t10k")


@pytest.mark.parametrize("name", ["plain", "fortran", "version2", "version3"])
def test_npy_files_are_read(name, tmp_path):
    copied(FORMATS / "numpy" / f"{name}_labels.npy", tmp_path)
    images = copied(FORMATS / "numpy" / f"{name}.npy", tmp_path)
    same(images, EXPECTED["images"], EXPECTED["labels"])


@pytest.mark.parametrize("name", ["stored", "deflated"])
def test_npz_files_are_read(name, tmp_path):
    path = copied(FORMATS / "numpy" / f"{name}.npz", tmp_path)
    same(path, EXPECTED["images"], EXPECTED["labels"], EXPECTED["scores"])
    (batch,) = opened(path, 5, as_dict=True, untransformed=array_fields(opened_source(path)))
    np.testing.assert_array_equal(batch["swapped"], EXPECTED["scores"])


@pytest.mark.parametrize("name", ["named", "planes"])
def test_safetensors_files_are_read(name, tmp_path):
    path = copied(FORMATS / "safetensors" / f"{name}.safetensors", tmp_path)
    scores = EXPECTED["scores"] if name == "named" else None  # the other file has bfloat16
    same(path, EXPECTED["images"], EXPECTED["labels"], scores)


@pytest.mark.parametrize(
    "name", sorted(path.name for path in PTH.glob("*.pth") if path.name != "untyped.pth")
)
def test_pth_files_are_read(name, tmp_path):
    path = copied(PTH / name, tmp_path)
    scores = EXPECTED["scores"] if name.startswith("named") else None
    same(path, EXPECTED["images"], EXPECTED["labels"], scores)


def test_types_without_a_typed_storage_are_read():
    data = tundish.Dataset(PTH / "untyped.pth", mode="I;16")
    assert data.targets == EXPECTED["labels"].tolist()
    np.testing.assert_array_equal(data[4][0], EXPECTED["images"][4, ..., 0])


def test_a_torch_file_without_checksums_is_read(tmp_path):
    content = {"images": torch.from_numpy(IMAGES), "labels": torch.from_numpy(LABELS)}
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(content, tmp_path / "a.pth")
    finally:
        torch.serialization.set_crc32_options(True)
    assert torch.equal(torch.load(tmp_path / "a.pth")["labels"], content["labels"])
    same(tmp_path / "a.pth", IMAGES, LABELS)
