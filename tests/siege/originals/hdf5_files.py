"""Random HDF5 files written by h5py."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.chunked import (
    arrays_along_axis,
    chunk_shape,
    fill_value,
    moved,
    moved_back,
    refuse_labels,
    written_part,
)
from tests.siege.originals.values import ALL_TYPES, expected, labels, loader_options, png, swapped

LATEST = (r"TND-31[45]", 'written with libver="latest"')


def make(draw: random.Random, folder: Path) -> Case:
    path = folder / draw.choice(("data.h5", "data set.hdf5"))
    versions = draw.choice((None, "earliest", ("earliest", "v108"), ("v108", "v110"), "latest"))
    user_block = 512 if draw.random() < 0.02 else 0
    options: dict[str, Any] = {"libver": versions, "track_order": draw.random() < 0.3}
    options |= {"userblock_size": user_block} if user_block else {}
    with h5py.File(path, "w", **options) as file:
        case = draw.choice((_arrays,) * 6 + (_coded,))(draw, file, path)
    case.about = f"libver={versions} {case.about}"
    if versions == "latest" or versions == ("v108", "v110"):
        case.refusals.append(LATEST)
    if user_block:
        case.refusals.append((r"TND-315.*user block", "user block"))
    return case


def _filters(draw: random.Random, dtype: np.dtype, case: Case) -> dict[str, Any]:
    """Returns arguments of create_dataset: filters and their combinations."""
    options: dict[str, Any] = {"shuffle": draw.random() < 0.4, "fletcher32": draw.random() < 0.2}
    kind = draw.randrange(9)
    if kind < 3:
        options |= {"compression": "gzip", "compression_opts": draw.randrange(10)}
    elif kind == 3:
        options["compression"] = "lzf"
    elif kind == 4:
        options |= hdf5plugin.LZ4(nbytes=draw.choice((0, 0, 64)))
    elif kind == 5:
        options |= hdf5plugin.Zstd()
    elif kind == 6:
        options |= hdf5plugin.BZip2()
    elif kind == 7:
        coder = draw.choice(("lz4", "lz4hc", "blosclz", "zstd", "zlib"))
        options |= hdf5plugin.Blosc(
            cname=coder, shuffle=draw.randrange(3), clevel=draw.randrange(10)
        )
    if draw.random() < 0.02 and dtype.kind in "iu":
        options |= {"scaleoffset": 0, "compression": None, "fletcher32": False}
        options.pop("compression_opts", None)
        case.refusals.append((r"TND-315.*filter", "scale-offset"))
    return options


def _write(draw: random.Random, file: Any, name: str, array: np.ndarray, case: Case) -> np.ndarray:
    """Writes an array, sometimes only partly, and returns the values that h5py reads."""
    dtype = swapped(draw, array.dtype)
    options: dict[str, Any] = {"dtype": dtype, "track_times": draw.random() < 0.2}
    if draw.random() < 0.7:
        options["chunks"] = chunk_shape(draw, array.shape, inside=True)
        options |= _filters(draw, array.dtype, case)
        if draw.random() < 0.3:
            options["maxshape"] = tuple(
                None if draw.random() < 0.5 else one + 3 for one in array.shape
            )
            options["chunks"] = chunk_shape(draw, array.shape)
            most = [
                one + 3 if limit else one + 99
                for one, limit in zip(array.shape, options["maxshape"])
            ]
            options["chunks"] = tuple(
                min(one, bound) for one, bound in zip(options["chunks"], most)
            )
    if draw.random() < 0.5:
        options["fillvalue"] = fill_value(draw, array.dtype)
    data = file.create_dataset(name, array.shape, **options)
    part = written_part(draw, array.shape)
    data[part] = array[part]
    if options.get("maxshape") and draw.random() < 0.3:
        data.resize(array.shape[0] + 2, axis=0)
        data.resize(array.shape[0], axis=0)
    for number in range(draw.choice((0, 0, 1, 12))):
        data.attrs[f"note {number}"] = draw.choice(("text", 3, [1.5, 2.0], np.arange(40)))
    case.about += f"{name} {dtype.str} {array.shape} {options}; "
    return np.asarray(data[...])


def _arrays(draw: random.Random, file: Any, path: Path) -> Case:
    arrays, axis = arrays_along_axis(draw, ALL_TYPES)
    case = Case(path, {}, {"axis": axis} if axis else {}, loader_options(arrays))
    group = (
        "run/one/"
        if draw.random() < 0.2 and "image" not in arrays and "label" not in arrays
        else ""
    )
    found = {}
    for name, array in arrays.items():
        read = _write(draw, file, group + name, moved(array, axis), case)
        found[group + name] = moved_back(read, axis)
    if "image" in arrays and draw.random() < 0.3:
        file["one number"] = 3.5
        file["text"] = "a text"
        file["pairs"] = np.zeros(3, [("a", "i4"), ("b", "f8")])
        file.create_dataset("nothing", (0, 3), "f4")
        file["soft"] = h5py.SoftLink("/nowhere")
    refuse_labels(case, found)
    case.fields = expected(found, numbers=False)
    return case


def _coded(draw: random.Random, file: Any, path: Path) -> Case:
    """Returns variable-length byte strings with one image each."""
    count = draw.choice((1, 3, 6))
    images = [png(draw) for _ in range(count)]
    data = file.create_dataset("image", (count,), h5py.vlen_dtype(np.uint8))
    for number, (coded, _) in enumerate(images):
        data[number] = np.frombuffer(coded, np.uint8)
    fields: dict[str, Any] = {"image": [pixels for _, pixels in images]}
    case = Case(path, fields, about="coded images")
    if draw.random() < 0.7:
        file["label"] = labels(draw, count) % 2
        fields["label"] = np.asarray(file["label"]).astype(np.int64)
        if draw.random() < 0.5:
            file["classes"] = ["dog", "Katze ä"]
            case.classes = ["dog", "Katze ä"]
    return case
