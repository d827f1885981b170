"""Writes hdf5.zip with files of h5py and hdf5plugin; not run in CI.

From the repository's root: python -m tests.formats.hdf5.make
"""

import io
import tempfile
import zipfile
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
from PIL import Image

from tests.helpers.array_values import CHUNK, SHAPE, images, labels, vectors

FOLDER = Path(__file__).parent

KINDS = {
    "contiguous": {},
    "chunked": {"chunks": CHUNK},
    "gzip": {"chunks": CHUNK, "compression": "gzip"},
    "shuffle_gzip": {"chunks": CHUNK, "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": CHUNK, "compression": "lzf"},
    "lz4": {"chunks": CHUNK, "compression": hdf5plugin.LZ4()},
    "blosc": {"chunks": CHUNK, "compression": hdf5plugin.Blosc()},
    "zstd": {"chunks": CHUNK, "compression": hdf5plugin.Zstd()},
}


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png")
    return out.getvalue()


def write(folder):
    with h5py.File(folder / "kinds.h5", "w", libver="earliest") as file:
        for name, options in KINDS.items():
            file.create_dataset(name, data=images(), **options)
    with h5py.File(folder / "latest.h5", "w", libver="latest") as file:
        for name in ("chunked", "shuffle_gzip"):
            file.create_dataset(name, data=images(), **KINDS[name])
    with h5py.File(folder / "group.h5", "w") as file:
        group = file.create_group("train")
        group.create_dataset("image", data=images(), chunks=CHUNK, compression="gzip")
        group.create_dataset("label", data=labels().astype(">i4"))
        group.create_dataset("vector", data=vectors().astype(">f4"), chunks=(5, 4), shuffle=True)
        group.create_dataset("weights", data=np.zeros((5, 3)))
        file.create_dataset("words", data=["texts", "are", "left out"])
    with h5py.File(folder / "missing.h5", "w") as file:
        data = file.create_dataset("image", SHAPE, "u1", chunks=CHUNK, fillvalue=9)
        data[:4] = images()[:4]
    with h5py.File(folder / "strings.h5", "w") as file:
        kind = h5py.vlen_dtype(np.uint8)
        data = file.create_dataset("image", (len(images()),), kind, chunks=(4,), compression="gzip")
        for i, pixels in enumerate(images()):
            data[i] = np.frombuffer(png(pixels), np.uint8)
        file.create_dataset("label", data=labels())
    with h5py.File(folder / "names.h5", "w") as file:
        file["image"] = images()
        file["codes"] = labels()
        file["label"] = file["codes"]
        file["picture"] = h5py.SoftLink("/image")
    with h5py.File(folder / "scaleoffset.h5", "w") as file:
        file.create_dataset("image", data=images(), chunks=CHUNK, scaleoffset=0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write(Path(made))
        with zipfile.ZipFile(FOLDER / "hdf5.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(made).iterdir()):
                archive.write(file, file.name)
