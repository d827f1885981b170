"""Caches and indexes of every format notice rewritten data, whatever the time stamps."""

import json
import os
import pickle
import struct
import warnings

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish.data.open_source import Source

from tests.helpers.program import needs_program

pytestmark = needs_program
COUNT = 4
SIDE = 32  # CIFAR's
BEFORE, AFTER, SAME_LABELS = 10, 100, 101  # levels of all pixels


def labels_of(level):
    return 1 - np.arange(COUNT) % 2 if level == AFTER else np.arange(COUNT) % 2


def images_of(level):
    return np.full((COUNT, SIDE, SIDE, 3), level, np.uint8)


def write_png(path, level):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (SIDE, SIDE), (level,) * 3)
    image.save(path, compress_level=0)  # the same size for every level


def write_folder(root, level):
    """Writes a folder; labels follow from folder names, which stay the same."""
    for number, label in enumerate(sorted(labels_of(BEFORE))):
        write_png(root / "d" / "ab"[label] / f"{number % 2}.png", level)
    return root / "d"


def write_list(root, level):
    rows = ["path,label"]
    for number, label in enumerate(labels_of(level)):
        write_png(root / f"{number}.png", level)
        rows.append(f"{number}.png,{label}")
    (root / "list.csv").write_text("\n".join(rows))
    return root / "list.csv"


def write_npz(root, level):
    np.savez(root / "d.npz", image=images_of(level), label=labels_of(level))
    return root / "d.npz"


def write_npy(root, level):
    np.save(root / "image.npy", images_of(level))
    np.save(root / "label.npy", labels_of(level))
    return root / "image.npy"


def write_pth(root, level):
    import torch

    images, labels = torch.tensor(images_of(level)), torch.tensor(labels_of(level))
    torch.save({"image": images, "label": labels}, root / "d.pth")
    return root / "d.pth"


def write_safetensors(root, level):
    from safetensors.numpy import save_file

    save_file({"image": images_of(level), "label": labels_of(level)}, root / "d.safetensors")
    return root / "d.safetensors"


def write_cifar(root, level):
    rows = [bytes([label]) + bytes([level]) * 3072 for label in labels_of(level)]
    (root / "data_batch_1.bin").write_bytes(b"".join(rows))
    return root / "data_batch_1.bin"


def write_cifar_python(root, level):
    data = images_of(level).reshape(COUNT, 3072)
    batch = {b"data": data, b"labels": labels_of(level).tolist()}
    (root / "data_batch_1").write_bytes(pickle.dumps(batch, 2))
    return root / "data_batch_1"


def write_idx(root, level):
    head = struct.pack(">4B3I", 0, 0, 8, 3, COUNT, SIDE, SIDE)
    images = root / "train-images-idx3-ubyte"
    images.write_bytes(head + images_of(level)[..., 0].tobytes())
    head = struct.pack(">4BI", 0, 0, 8, 1, COUNT)
    labels = root / "train-labels-idx1-ubyte"
    labels.write_bytes(head + labels_of(level).astype(np.uint8).tobytes())
    return images


def write_recordio(root, level):
    """Writes a RecordIO file and its .idx file."""
    out, keys = b"", ""
    write_png(root / "one.png", level)
    image = (root / "one.png").read_bytes()
    for number, label in enumerate(labels_of(level)):
        keys += f"{number}\t{len(out)}\n"
        data = struct.pack("<IfQQ", 0, label, number, 0) + image
        out += struct.pack("<II", 0xCED7230A, len(data)) + data + bytes(-len(data) % 4)
    (root / "one.png").unlink()
    (root / "d.idx").write_text(keys)
    (root / "d.rec").write_bytes(out)
    return root / "d.rec"


def write_zarr(root, level):
    group = root / "d.zarr"
    for name, array in {"image": images_of(level), "label": labels_of(level)}.items():
        (group / name).mkdir(parents=True, exist_ok=True)
        about = {"zarr_format": 2, "shape": array.shape, "chunks": [1, *array.shape[1:]]}
        about |= {"dtype": array.dtype.str, "compressor": None, "filters": None, "order": "C"}
        (group / name / ".zarray").write_text(json.dumps(about | {"fill_value": 0}))
        for number in range(COUNT):
            key = ".".join([str(number), *"0" * (array.ndim - 1)])
            (group / name / key).write_bytes(array[number].tobytes())
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    return group


def write_n5(root, level):
    group = root / "d.n5"
    for name, array in {"image": images_of(level), "label": labels_of(level)}.items():
        shape, block = array.shape[::-1], [*array.shape[:0:-1], 1]
        kind = {"uint8": "uint8", "int64": "int64"}[str(array.dtype)]
        about = {"dimensions": shape, "blockSize": block, "dataType": kind}
        about["compression"] = {"type": "raw"}
        for number in range(COUNT):
            path = group.joinpath(name, *"0" * (array.ndim - 1), str(number))
            path.parent.mkdir(parents=True, exist_ok=True)
            head = struct.pack(f">HH{len(block)}I", 0, len(block), *block)
            data = array[number : number + 1].astype(array.dtype.newbyteorder(">"))
            path.write_bytes(head + data.tobytes())
        (group / name / "attributes.json").write_text(json.dumps(about))
    (group / "attributes.json").write_text('{"n5": "2.0.0"}')
    return group


def converted(kind, name):
    def write(root, level):
        source = write_list(root / "source", level)
        tundish.convert(source, root / name, to=kind, force=True, progress=False)
        return root / name

    return write


def write_pack(root, level):
    source = write_list(root / "source", level)
    tundish.pack(source, root / "d.tnd", codec="keep", force=True, progress=False)
    return root / "d.tnd"


def write_hdf5(root, level):
    write_npy(root, level)
    pack = root / "source.tnd"
    tundish.pack(root / "image.npy", pack, force=True, progress=False)
    tundish.convert(pack, root / "d.h5", to="hdf5", force=True, progress=False)
    return root / "d.h5"


FORMATS = {
    "folder": write_folder,
    "list": write_list,
    "npz": write_npz,
    "npy": write_npy,
    "pth": write_pth,
    "safetensors": write_safetensors,
    "CIFAR": write_cifar,
    "CIFAR, pickled": write_cifar_python,
    "IDX": write_idx,
    "RecordIO": write_recordio,
    "Zarr": write_zarr,
    "N5": write_n5,
    "tar": converted("tar", "d.tar"),
    "TFRecord": converted("tfrecord", "d.tfrecord"),
    "LMDB": converted("lmdb", "d.lmdb"),
    "HDF5": write_hdf5,
    "pack": write_pack,
}


def read(path, cache):
    """Returns levels and labels in source order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no class names
        with tundish.Loader(path, COUNT, shuffle=False, cache_dir=cache) as loader:
            images, labels = next(iter(loader))
    return np.unique(images.numpy()).tolist(), labels.tolist()


def expected(name, level):
    labels = sorted(labels_of(BEFORE)) if name == "folder" else labels_of(level)
    return [level], list(labels)


def sizes_and_times(root):
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {path: path.stat() for path in files if not path.name.startswith(".d.")}


CHANGES = {
    "older": (AFTER, -1000),
    "equal": (AFTER, 0),
    "equal, with the same labels": (SAME_LABELS, 0),
    "newer": (AFTER, 1000),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FORMATS)
def test_rewritten_data_are_read_again(name, change, tmp_path):
    """All files keep their size; their times become older, stay equal or become newer."""
    root, cache, write = tmp_path / "data", tmp_path / "cache", FORMATS[name]
    level, shift_s = CHANGES[change]
    root.mkdir()
    path = write(root, BEFORE)
    for _ in range(2):  # the second time from index and cache
        assert read(path, cache) == expected(name, BEFORE)
    before = sizes_and_times(root)
    assert write(root, level) == path
    for file, status in before.items():
        assert file.stat().st_size == status.st_size
        time_ns = status.st_mtime_ns + shift_s * 10**9
        os.utime(file, ns=(time_ns, time_ns))
    assert read(path, cache) == expected(name, level)


@pytest.mark.parametrize("name", FORMATS)
def test_data_that_were_replaced_after_they_were_opened_are_read_again(name, tmp_path):
    """The content of an open file must not be cached for the new file of the same name."""
    root, cache, write = tmp_path / "data", tmp_path / "cache", FORMATS[name]
    root.mkdir()
    path = write(root, BEFORE)
    source = Source(path)
    root.rename(tmp_path / "replaced")
    root.mkdir()
    assert write(root, SAME_LABELS) == path
    read(source, cache)
    assert read(path, cache) == expected(name, SAME_LABELS)


# Formats whose files are read while the loader runs, with labels and places from the opening. A file
# of a folder, a list, Zarr or N5 is opened by each read; pickles of CIFAR are read into memory.
KEPT_OPEN = sorted(set(FORMATS) - {"folder", "list", "Zarr", "N5", "CIFAR, pickled"})


@pytest.mark.parametrize("name", KEPT_OPEN)
def test_data_that_are_written_after_they_were_opened_are_bad_samples(name, tmp_path):
    """The new samples would have the labels of the old ones."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    path, other = FORMATS[name](first, BEFORE), FORMATS[name](second, SAME_LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = tundish.Loader(path, COUNT, shuffle=False, on_error="skip", max_bad=1.0)
        file, new = (p / "data.mdb" if p.is_dir() else p for p in (path, other))
        assert file.stat().st_size == new.stat().st_size
        with file.open("r+b") as opened:  # the same file, not another one with this name
            opened.write(new.read_bytes())
        with pytest.raises(tundish.Error, match="TND-605"):
            list(loader)
    bad = loader.bad_samples()
    assert {one["code"] for one in bad} == {"TND-311"}
    assert {one["reason"] for one in bad} == {"the file was written after it was opened"}


def test_a_pack_that_is_touched_stays_readable(tmp_path):
    """Users touch files that a cluster would delete for their age."""
    path = write_pack(tmp_path, BEFORE)
    with tundish.Loader(path, COUNT, shuffle=False) as loader:
        for _ in range(2):
            path.touch()
            [(images, labels)] = loader
            assert np.unique(images.numpy()).tolist() == [BEFORE]
            assert labels.tolist() == labels_of(BEFORE).tolist()


def test_records_of_a_pack_written_over_another_one_are_bad_samples(tmp_path):
    """Arrays have the same places and valid checksums in both packs."""
    for name, level in (("first", BEFORE), ("second", SAME_LABELS)):
        arrays = {"image": images_of(level), "label": labels_of(level)}
        np.savez(tmp_path / f"{name}.npz", **arrays)
        tundish.pack(tmp_path / f"{name}.npz", tmp_path / f"{name}.tnd", progress=False)
    dataset = tundish.Dataset(tmp_path / "first.tnd")
    assert int(dataset[0][0].max()) == BEFORE
    with (tmp_path / "first.tnd").open("r+b") as opened:
        opened.write((tmp_path / "second.tnd").read_bytes())
    with pytest.raises(tundish.SampleError, match="TND-311") as error:
        dataset[0]
    assert "the file was written after it was opened" in str(error.value)


def test_files_that_are_renamed_linked_or_locked_stay_readable(tmp_path):
    path = write_npy(tmp_path, BEFORE)
    loader = tundish.Loader(path, COUNT, shuffle=False)
    path.chmod(0o400)
    (tmp_path / "copy.npy").hardlink_to(path)
    path.rename(tmp_path / "renamed.npy")
    [(images, labels)] = loader
    assert np.unique(images.numpy()).tolist() == [BEFORE]
    assert labels.tolist() == labels_of(BEFORE).tolist()
