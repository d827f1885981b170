"""Lists the chunks of an HDF5 file with h5py. Prints the number of chunks, and the time in seconds."""

from __future__ import annotations

import sys
import time

import h5py


def main() -> None:
    begin = time.perf_counter()
    chunks = []
    with h5py.File(sys.argv[1]) as file:
        file["feat"].id.chunk_iter(chunks.append)
    print(len(chunks), time.perf_counter() - begin)


if __name__ == "__main__":
    main()
