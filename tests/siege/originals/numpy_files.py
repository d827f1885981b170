"""Random .npy and .npz files written by NumPy."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.values import (
    columns,
    expected,
    labels,
    loader_options,
    plain_array,
    swapped,
    values,
)


def make(draw: random.Random, folder: Path) -> Case:
    return draw.choice((_npy, _npz, _npz))(draw, folder)


def _stored(draw: random.Random, array: np.ndarray) -> np.ndarray:
    """Returns the same values in another byte order or memory order."""
    array = array.astype(swapped(draw, array.dtype))
    kind = draw.random()
    if kind < 0.3:
        return np.asfortranarray(array)
    if kind < 0.4 and array.ndim > 1:
        return np.repeat(array, 2, axis=1)[:, ::2]
    return array


def _write(draw: random.Random, path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        version = draw.choice(((1, 0), (2, 0), (3, 0), None))
        np.lib.format.write_array(file, array, version, allow_pickle=False)


def _npy(draw: random.Random, folder: Path) -> Case:
    count = draw.choice((1, 3, 7))
    array = plain_array(draw, count)
    while array[:1].size < 2:
        array = plain_array(draw, count)
    arrays = {"value": array}
    if draw.random() < 0.5:
        arrays = {"image": values(draw, "u1", (draw.choice((1, 2, 5)), 5, 6, 3))}
    (array,) = arrays.values()
    (name,) = arrays
    axis = draw.randrange(array.ndim) if array.ndim > 1 and draw.random() < 0.3 else 0
    path = folder / draw.choice(("x.npy", "train set.npy", "data.npy"))
    _write(draw, path, _stored(draw, np.moveaxis(array, 0, axis)))
    if draw.random() < 0.4:
        arrays["label"] = labels(draw, len(array))
        _write(draw, folder / draw.choice(("labels.npy", "label.npy", "y.npy")), arrays["label"])
    fields = expected(arrays)
    if name == "value":
        fields["image"] = fields.pop("value")
    about = f"{name} {array.dtype} {array.shape} axis {axis} {path.name}"
    return Case(path, fields, {"axis": axis} if axis else {}, about=about)


def _npz(draw: random.Random, folder: Path) -> Case:
    arrays = columns(draw)
    count = len(next(iter(arrays.values())))
    stored = {name: _stored(draw, array) for name, array in arrays.items()}
    if "image" in arrays and draw.random() < 0.2:
        stored["other"] = plain_array(draw, count + 1)
        stored["text"] = np.array(["a"] * count)
        stored["scalar"] = np.array(3.5)
        stored["complex"] = np.ones((count, 2), np.complex64)
        stored["empty"] = np.ones((count, 0), np.float32)
    path = folder / "data.npz"
    if draw.random() < 0.3:
        _zip(draw, path, stored)
    else:
        draw.choice((np.savez, np.savez_compressed))(path, **stored)
    about = ", ".join(f"{name} {one.dtype.str} {one.shape}" for name, one in stored.items())
    return Case(path, expected(arrays), about=about, loader=loader_options(arrays))


def _zip(draw: random.Random, path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes the archive member by member, with other methods, comments and folders."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            archive.comment = draw.randbytes(draw.choice((0, 5, 300)))
            archive.compression = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            with archive.open(f"{name}.npy", "w", force_zip64=draw.random() < 0.5) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
