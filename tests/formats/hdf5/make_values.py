"""Writes values.zip, h5py files with past errors, and chunks.zip; not run in CI.

From the repository's root: python -m tests.formats.hdf5.make_values
"""

import io
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).parent
COUNT = 10
MANY = 50_000  # chunks
FILLS = {
    "float32_big": (">f4", 1.5),
    "int16_big": (">i2", -7),
    "bool": ("bool", True),
    "float16": ("<f2", 3.25),
    "float64": ("<f8", -0.125),
}


def write_enumerations(file):
    """Writes one dataset per kind of enumeration and bool."""
    kinds, flags = np.array([3, 7] * 5, "i1"), np.array([True, False] * 5)
    kind = h5py.enum_dtype({"RED": 3, "BLUE": 7}, basetype="i1")
    pair = h5py.enum_dtype({"CAT": 0, "DOG": 1}, basetype="i1")
    file.create_dataset("kind", data=np.stack([kinds] * 2, 1), dtype=kind)
    file.create_dataset("pair", data=np.stack([flags] * 2, 1).astype("i1"), dtype=pair)
    file.create_dataset("flag", data=np.stack([flags] * 2, 1))  # h5py's bool
    return {name: file[name][...] for name in ("kind", "pair", "flag")}


def write_fills(file):
    """Writes the first half of each dataset."""
    for name, (dtype, fill) in FILLS.items():
        made = file.create_dataset(name, (COUNT, 3), dtype, chunks=(5, 2), fillvalue=fill)
        made[:5] = 0
        file.create_dataset(f"never_{name}", (COUNT, 3), dtype, fillvalue=fill)
    return {name: file[name][...] for name in file}


def write_floats(file):
    """Writes float32 with another exponent bias and a 24-bit float; NumPy has neither type."""
    file["plain"] = np.arange(30, dtype="f4").reshape(COUNT, 3)
    space = h5py.h5s.create_simple((COUNT, 3))
    bias, narrow = h5py.h5t.IEEE_F32LE.copy(), h5py.h5t.IEEE_F32LE.copy()
    bias.set_ebias(100)
    narrow.set_fields(23, 15, 8, 0, 15)
    narrow.set_precision(24)
    for name, kind in {"bias": bias, "narrow": narrow}.items():
        made = h5py.h5d.create(file.id, name.encode(), kind, space)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, file["plain"][...])
    return {"plain": file["plain"][...]}


def write_virtual(file):
    """Writes a virtual `label` in the file `other`; readers must not open files named there."""
    file["image"] = np.zeros((4, 3, 3), "u1")
    layout = h5py.VirtualLayout(shape=(4,), maxshape=(None,), dtype="i8")
    source = h5py.VirtualSource("other", "d", shape=(4,), maxshape=(None,), dtype="i8")
    layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
    file.create_virtual_dataset("label", layout)
    return {"image": np.zeros((4, 3, 3), "u1")}


def write_external(file):
    """Writes a `label` whose values are in the file `other`, and a link to that file."""
    file["image"] = np.zeros((4, 3, 3), "u1")
    file.create_dataset("label", (4,), "i8", external=[("other", 0, 32)])
    file["link"] = h5py.ExternalLink("other", "/d")
    return {"image": np.zeros((4, 3, 3), "u1")}


def write_others(file):
    """Writes datasets that are not plain numeric arrays, an image and a compact label."""
    images = np.arange(4 * 4 * 4 * 3, dtype="u1").reshape(4, 4, 4, 3)
    file["image"] = images
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    label = h5py.h5d.create(file.id, b"label", h5py.h5t.NATIVE_INT32, space, compact)
    label.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, 9, dtype="i4"))
    file["compound"] = np.zeros(4, [("a", "i4"), ("b", "f4")])
    file.create_dataset("ragged", (4,), dtype=h5py.vlen_dtype(np.float32))
    file.create_dataset("reference", (4,), dtype=h5py.ref_dtype)
    file.create_dataset("rows", (4,), dtype=np.dtype(("i4", (3,))))
    file["text"] = ["a", "b", "c", "d"]
    file["void"] = np.zeros(4, "V5")
    file["scalar"] = 3
    return {"image": images.transpose(0, 3, 1, 2), "label": np.arange(5, 9)}


WRITERS = {
    "enumerations": write_enumerations,
    "fills": write_fills,
    "floats": write_floats,
    "others": write_others,
    "virtual": write_virtual,
    "external": write_external,
}


def write_many_chunks(path):
    """Writes an array with one chunk per sample and the usual index, a B-tree."""
    with h5py.File(path, "w") as file:
        file.create_dataset("number", data=np.zeros((MANY, 1), "u1"), chunks=(1, 1))
    with zipfile.ZipFile(FOLDER / "chunks.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_LZMA)


def main():
    archive = zipfile.ZipFile(FOLDER / "values.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    with tempfile.TemporaryDirectory() as made:
        write_many_chunks(Path(made) / "chunks.h5")
        for name, write in WRITERS.items():
            path = Path(made) / f"{name}.h5"
            with h5py.File(path, "w") as file:
                values = write(file)
            expected = io.BytesIO()
            np.savez_compressed(expected, **values)
            for member, content in (
                (path.name, path.read_bytes()),
                (f"{name}.npz", expected.getvalue()),
            ):
                archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    archive.close()


if __name__ == "__main__":
    main()
