"""Recomputes the arrays that tests/formats/{zarr,n5,hdf5}/make.py stored."""

import numpy as np

COUNT = 11
SHAPE = (COUNT, 6, 5, 3)
CHUNK = (4, 6, 3, 3)  # does not divide the shape, so chunks at two edges are partial


def images():
    i, y, x, c = np.indices(SHAPE)
    return ((i * 37 + y * y * 3 + x * 5 + c * 70) % 256).astype(np.uint8)


def labels():
    return (np.arange(COUNT, dtype=np.int64) * 7) % 5


def vectors():
    return (np.arange(COUNT * 7, dtype=np.float32) / 3).reshape(COUNT, 7)
