"""Writes zarr.zip: folders as written by zarr 2 (argument 2) and zarr 3 (argument 3).

Needs zarr 2.18 or zarr 3, respectively; not run in CI. From the repository's root:
python -m tests.formats.zarr.make 2; python -m tests.formats.zarr.make 3
"""

import sys
import tempfile
import zipfile
from pathlib import Path

import numcodecs
import numpy as np
import zarr

from tests.helpers.array_values import CHUNK, images, labels, vectors

FOLDER = Path(__file__).parent


def save(name, folder):
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))


def version_2(folder):
    blosc = numcodecs.Blosc
    compressors = {
        "raw": None,
        "zlib": numcodecs.Zlib(),
        "gzip": numcodecs.GZip(),
        "zstd": numcodecs.Zstd(),
        "lz4": numcodecs.LZ4(),
        "bz2": numcodecs.BZ2(),
        "lzma": numcodecs.LZMA(),
        "blosc_lz4": blosc("lz4", shuffle=blosc.SHUFFLE),
        "blosc_zstd_bits": blosc("zstd", shuffle=blosc.BITSHUFFLE),
        "blosc_blosclz": blosc("blosclz", shuffle=blosc.NOSHUFFLE),
        "blosc_zlib": blosc("zlib"),
    }
    for name, compressor in compressors.items():
        zarr.save_array(f"{folder}/{name}", images(), chunks=CHUNK, compressor=compressor)
    options = {"chunks": CHUNK, "compressor": None}
    zarr.save_array(f"{folder}/fortran", images(), order="F", **options)
    zarr.save_array(f"{folder}/nested", images(), dimension_separator="/", **options)
    filters = [numcodecs.Shuffle(4)]
    zarr.save_array(f"{folder}/filter", images(), filters=filters, **options)
    zarr.save_array(f"{folder}/delta", images(), filters=[numcodecs.Delta("u1")], **options)
    missing = zarr.open_array(
        f"{folder}/missing", "w", shape=images().shape, dtype="u1", fill_value=9, **options
    )
    missing[:4] = images()[:4]
    group = zarr.open_group(f"{folder}/group", "w")
    group.create_dataset("image", data=images(), chunks=CHUNK)
    group.create_dataset("label", data=labels().astype(">i4"), chunks=(4,))
    group.create_dataset("vector", data=vectors().astype(">f4"), chunks=(5, 4))
    group.create_dataset("weights", data=np.zeros((5, 3)))
    save("zarr2.zip", folder)


def version_3(folder):
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

    def array(name, **options):
        one = zarr.create_array(
            f"{folder}/{name}", shape=images().shape, dtype="u1", zarr_format=3, **options
        )
        one[:] = images()

    array("raw", chunks=CHUNK, compressors=None)
    array("gzip", chunks=CHUNK, compressors=GzipCodec())
    array("zstd_crc", chunks=CHUNK, compressors=[ZstdCodec(), Crc32cCodec()])
    array("blosc", chunks=CHUNK, compressors=BloscCodec(cname="lz4", shuffle="bitshuffle"))
    array(
        "transposed",
        chunks=CHUNK,
        compressors=None,
        filters=[zarr.codecs.TransposeCodec(order=(1, 3, 0, 2))],
    )
    array(
        "v2_keys",
        chunks=CHUNK,
        compressors=None,
        chunk_key_encoding={"name": "v2", "separator": "."},
    )
    array("sharded", chunks=(2, 3, 5, 3), shards=(4, 6, 5, 3), compressors=GzipCodec())
    group = zarr.open_group(f"{folder}/group", mode="w", zarr_format=3)
    for name, data, chunks in (
        ("x", images(), CHUNK),
        ("y", labels(), (4,)),
        ("vector", vectors(), (5, 4)),
    ):
        one = group.create_array(name, shape=data.shape, dtype=data.dtype, chunks=chunks)
        one[:] = data
    save("zarr3.zip", folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        {"2": version_2, "3": version_3}[sys.argv[1]](made)
