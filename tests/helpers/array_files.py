"""Test files for N5, Zarr and HDF5, and checks that a source returns the stored arrays."""

import zipfile
from pathlib import Path

import numpy as np
import tundish
from tundish import transforms as T

from tests.helpers.array_values import images, labels, vectors
from tests.helpers.loaders import opened
from tests.helpers.sources import tundish as program

FORMATS = Path(__file__).parents[1] / "formats"


def unzip(name, folder):
    """Extracts the folders of tests/formats/NAME."""
    with zipfile.ZipFile(FORMATS / name) as archive:
        archive.extractall(folder)
    return folder


def pixels(source):
    data = tundish.Dataset(source)
    return np.stack([data[i][0] for i in range(len(data))])


def batches(source):
    loader = opened(source, batch_size=3, transforms=[T.RandomHorizontalFlip()], seed=5)
    return [[np.asarray(part) for part in batch] for batch in loader]


def check_same_batches(source, options, folder):
    """Checks that a loader returns the same batches from the arrays and from their pack."""
    pack = folder / "same.tnd"
    program("pack", source, "-o", pack, "--quiet", *options.argv())
    direct, packed = batches(options), batches(pack)
    assert len(direct) == len(packed) == 4
    for one, other in zip(direct, packed, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


__all__ = ["check_same_batches", "images", "labels", "pixels", "unzip", "vectors"]
