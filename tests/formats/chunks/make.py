"""Writes src/data/source/chunks/chunk_samples.inc: one chunk compressed by the original libraries.

Needs numcodecs, h5py and hdf5plugin; not run in CI. python tests/formats/chunks/make.py
"""

import struct
import tempfile
from pathlib import Path

import h5py
import hdf5plugin
import numcodecs
import numpy as np
from numcodecs import blosc

OUT = Path(__file__).parents[3] / "src/data/source/chunks/chunk_samples.inc"


def values():
    """Returns the chunk; chunk_samples_test.cpp generates the same values."""
    i = np.arange(1500)
    return ((i // 8) % 50 + (i % 4) * 256 + i // 700).astype("<u2")


def from_hdf5(data, **options):
    with tempfile.TemporaryDirectory() as folder, h5py.File(f"{folder}/x.h5", "w") as file:
        dataset = file.create_dataset("x", data=data, chunks=data.shape, **options)
        return dataset.id.read_direct_chunk((0,))[1]


def java_stream(data):
    """Returns a stream like lz4-java's LZ4BlockOutputStream, from the libraries' block and sum."""
    import xxhash

    out = b""
    for at in range(0, len(data), 1024):
        part = data[at : at + 1024]
        block = bytes(numcodecs.LZ4().encode(part))[4:]
        method = 0x20
        if len(block) >= len(part):
            method, block = 0x10, part
        total = xxhash.xxh32_intdigest(part, 0x9747B28C) & 0x0FFFFFFF
        out += b"LZ4Block" + struct.pack("<BIII", method, len(block), len(part), total) + block
    return out + b"LZ4Block" + struct.pack("<BIII", 0x10, 0, 0, 0)


def samples():
    data = values()
    raw = data.tobytes()
    yield "gzip", "gzip", numcodecs.GZip(6).encode(raw)
    yield "zlib", "gzip", numcodecs.Zlib(6).encode(raw)
    yield "zstd", "zstd", numcodecs.Zstd(5).encode(raw)
    yield "xz", "xz", numcodecs.LZMA(preset=1).encode(raw)
    yield "bz2", "bzip2", numcodecs.BZ2(9).encode(raw)
    yield "lz4", "lz4_sized", numcodecs.LZ4().encode(raw)
    yield "n5 lz4 of numcodecs", "lz4_n5", numcodecs.LZ4().encode(raw)
    yield "n5 lz4 of z5", "lz4_n5", bytes(numcodecs.LZ4().encode(raw))[4:]
    yield "n5 lz4 of java", "lz4_n5", java_stream(raw)
    for name in ("blosclz", "lz4", "zlib", "zstd"):
        for kind, shuffle in enumerate(("plain", "bytes", "bits")):
            for block in (0, 1024):
                if block == 0 and (shuffle, name) != ("bytes", "blosclz"):
                    continue
                coder = blosc.Blosc(cname=name, clevel=5, shuffle=kind, blocksize=block)
                yield f"blosc {name} {shuffle} {block}", "blosc", coder.encode(data)
    yield "blosc copied", "blosc", blosc.Blosc(cname="lz4", clevel=0).encode(data[:100])
    yield "hdf5 lzf", "lzf", from_hdf5(data, compression="lzf")
    yield "hdf5 lz4", "lz4_hdf5", from_hdf5(data, compression=hdf5plugin.LZ4(nbytes=1024))
    yield "hdf5 blosc", "blosc", from_hdf5(data, compression=hdf5plugin.Blosc())
    yield "hdf5 zstd", "zstd", from_hdf5(data, compression=hdf5plugin.Zstd())
    yield "hdf5 fletcher32", "fletcher32", from_hdf5(data, fletcher32=True)[-4:]
    yield "hdf5 shuffle gzip", "shuffle_gzip", from_hdf5(data, shuffle=True, compression="gzip")
    yield (
        "hdf5 shuffle gzip fletcher32",
        "shuffle_gzip_fletcher32",
        from_hdf5(data, shuffle=True, compression="gzip", fletcher32=True),
    )


def main():
    lines = ["// Made by tests/formats/chunks/make.py: {name, codec, bytes in hexadecimal digits}."]
    for name, codec, data in samples():
        text = bytes(data).hex()
        rows = [f'    "{text[at : at + 90]}"' for at in range(0, len(text), 90)]
        lines.append(f'{{"{name}", "{codec}",\n' + "\n".join(rows) + "},")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
