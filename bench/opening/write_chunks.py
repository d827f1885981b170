"""Writes an HDF5 file with many chunks: python -m bench.opening.write_chunks FILE INDEX CHUNKS

INDEX names the structure in which h5py stores the addresses of the chunks.
"""

from __future__ import annotations

import sys

import h5py

# name: (file format version, maximum shape; None: the array may grow along this axis)
INDEXES = {
    "B-tree version 1": ("earliest", (None, 4)),
    "fixed array": ("latest", (0, 4)),
    "extensible array": ("latest", (None, 4)),
    "B-tree version 2": ("latest", (None, None)),
}


def write(path: str, index: str, chunks: int) -> None:
    version, growing = INDEXES[index]
    most = (growing[0] if growing[0] is None else chunks, growing[1])
    with h5py.File(path, "w", libver=version) as file:
        array = file.create_dataset("feat", (chunks, 4), "u1", chunks=(1, 4), maxshape=most)
        for row in range(chunks):
            array.id.write_direct_chunk((row, 0), row.to_bytes(4, "little"))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
