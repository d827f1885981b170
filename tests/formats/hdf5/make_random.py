"""Writes random.zip: small random h5py files with every chunk index; not run in CI.

From the repository's root: python -m tests.formats.hdf5.make_random
"""

import ctypes
import io
import random
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).parent
FILES = 60
UNLIMITED = h5py.h5s.UNLIMITED


def leave_edges_unfiltered(properties):
    """Sets H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS, for which h5py has no name."""
    libraries = Path(h5py.__file__).parents[1] / "h5py.libs"
    library = ctypes.CDLL(str(next(libraries.glob("libhdf5-*.so*"))))
    library.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
    assert library.H5Pset_chunk_opts(properties.id, 2) >= 0


def properties_of(draw, chunk, edges):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk(chunk)
    filters = draw.choice(["none", "none", "gzip", "shuffle", "both"])
    if filters in ("shuffle", "both"):
        made.set_shuffle()
    if filters in ("gzip", "both"):
        made.set_deflate(1)
    if filters == "none" and draw.random() < 0.5:
        made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    if edges:
        leave_edges_unfiltered(made)
    return made


def draw_shape(draw):
    axes = draw.randint(1, 4)
    shape = [draw.randint(1, 40 if axes < 3 else 9) for _ in range(axes)]
    chunk = [draw.randint(1, side + 2) for side in shape]
    limits = [draw.choice([side, side, side + 7, UNLIMITED]) for side in shape]
    chunk = [
        side if limit == UNLIMITED else min(side, limit)
        for side, limit in zip(chunk, limits, strict=True)
    ]
    return shape, chunk, limits


def write(path, seed):
    """Writes one dataset of random shape, type and filters; returns its values."""
    draw = random.Random(seed)
    latest = draw.random() < 0.75
    version = "v110" if latest else "earliest"
    shape, chunk, limits = draw_shape(draw)
    kind = draw.choice(["<i4", "<u1", ">i2", "<f8"])
    with h5py.File(path, "w", libver=(version, "v110")) as file:
        space = h5py.h5s.create_simple(tuple(shape), tuple(limits))
        edges = latest and draw.random() < 0.5
        made = properties_of(draw, tuple(chunk), edges)
        data = h5py.Dataset(
            h5py.h5d.create(file.id, b"values", h5py.h5t.py_create(kind), space, made)
        )
        for _ in range(draw.randint(0, 6)):
            first = [draw.randrange(side) for side in shape]
            end = [draw.randint(low + 1, side) for low, side in zip(first, shape, strict=True)]
            box = tuple(slice(low, high) for low, high in zip(first, end, strict=True))
            data[box] = np.arange(data[box].size).reshape(data[box].shape) % 100
        # libhdf5 2.0 cannot always resize datasets with unfiltered edges.
        if draw.random() < 0.3 and UNLIMITED in limits and not edges:
            axis = limits.index(UNLIMITED)
            data.resize(draw.randint(1, shape[axis] + 30), axis)
        return data[...]


def npy(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def main():
    with tempfile.TemporaryDirectory() as made:
        archive = zipfile.ZipFile(FOLDER / "random.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        for seed in range(FILES):
            file = Path(made) / f"random{seed:02}.h5"
            values = write(file, seed)
            for name, content in (
                (file.name, file.read_bytes()),
                (f"{file.stem}.npy", npy(values)),
            ):
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        archive.close()


if __name__ == "__main__":
    main()
