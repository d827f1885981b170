"""Writes z5.zip and zarr.zip: N5 folders written by z5py (argument z5) and zarr 2 (argument zarr).

Not run in CI. From the repository's root: python -m tests.formats.n5.make z5; ... zarr
"""

import sys
import tempfile
import zipfile
from pathlib import Path

from tests.helpers.array_values import CHUNK, images, labels, vectors

FOLDER = Path(__file__).parent


def save(name, folder):
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))


def by_z5(folder):
    import z5py

    for codec in ("raw", "gzip", "bzip2", "xz", "lz4", "blosc", "zstd"):
        try:
            file = z5py.File(f"{folder}/{codec}.n5", "w")
            file.create_dataset("image", data=images(), chunks=CHUNK, compression=codec)
        except Exception as error:
            print(codec, "left out:", error)
    file = z5py.File(f"{folder}/group.n5", "w")
    file.create_dataset("image", data=images(), chunks=CHUNK, compression="gzip")
    file.create_dataset("label", data=labels(), chunks=(4,), compression="raw")
    file.create_dataset("vector", data=vectors(), chunks=(5, 4), compression="gzip")
    save("z5.zip", folder)


def by_zarr(folder):
    import numcodecs
    import zarr

    codecs = {
        "raw": None,
        "gzip": numcodecs.GZip(),
        "bz2": numcodecs.BZ2(),
        "xz": numcodecs.LZMA(),
        "lz4": numcodecs.LZ4(),
        "blosc": numcodecs.Blosc(),
        "zstd": numcodecs.Zstd(),
    }
    for name, codec in codecs.items():
        group = zarr.group(store=zarr.N5Store(f"{folder}/{name}.n5"), overwrite=True)
        group.create_dataset("image", data=images(), chunks=CHUNK, compressor=codec)
    save("zarr.zip", folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        {"z5": by_z5, "zarr": by_zarr}[sys.argv[1]](made)
