"""Random N5 folders written by z5py and TensorStore."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import tensorstore
import z5py

from tests.siege.originals.case import Case
from tests.siege.originals.chunked import (
    arrays_along_axis,
    chunk_shape,
    moved,
    moved_back,
    refuse_labels,
    written_part,
)
from tests.siege.originals.values import FLOATS, INTEGERS, expected, loader_options

TYPES = (*INTEGERS, *FLOATS[1:])


def make(draw: random.Random, folder: Path) -> Case:
    path = folder / "data.n5"
    arrays, axis = arrays_along_axis(draw, TYPES)
    case = Case(path, {}, {"axis": axis} if axis else {}, loader_options(arrays))
    file = z5py.File(str(path), "a", use_zarr_format=False)
    found = {}
    for name, array in arrays.items():
        write = draw.choice((_write_z5, _write_tensorstore))
        found[name] = moved_back(write(draw, file, path, name, moved(array, axis), case), axis)
    refuse_labels(case, found)
    case.fields = expected(found, numbers=False)
    return case


def _write_z5(
    draw: random.Random, file: Any, path: Path, name: str, array: np.ndarray, case: Case
) -> np.ndarray:
    options: dict[str, Any] = {
        "compression": draw.choice(("raw", "gzip", "bzip2", "xz", "lz4", "zstd", "blosc"))
    }
    chunks = chunk_shape(draw, array.shape, inside=True)
    data = None
    while data is None:
        try:
            data = file.create_dataset(
                name, shape=array.shape, dtype=array.dtype.name, chunks=chunks, **options
            )
        except Exception:  # this build of z5 lacks the compression
            if options["compression"] == "raw":
                raise
            options["compression"] = "raw"
    part = written_part(draw, array.shape)
    if all(one.stop > one.start for one in part):
        data[part] = np.ascontiguousarray(array[part])
    if draw.random() < 0.2:
        data.attrs["note"] = "ä"
    case.about += f"z5 {name} {array.dtype} {array.shape} {chunks} {options}; "
    return np.asarray(data[tuple(slice(0, one) for one in array.shape)])


def _write_tensorstore(
    draw: random.Random, file: Any, path: Path, name: str, array: np.ndarray, case: Case
) -> np.ndarray:
    coder: dict[str, Any] = draw.choice(
        (
            {"type": "raw"},
            {"type": "gzip", "level": draw.randrange(10), "useZlib": draw.random() < 0.5},
            {"type": "bzip2"},
            {"type": "xz"},
            {"type": "zstd", "level": draw.randint(1, 9)},
            {
                "type": "blosc",
                "cname": draw.choice(("lz4", "lz4hc", "blosclz", "zstd", "zlib")),
                "clevel": draw.randrange(10),
                "shuffle": draw.randrange(3),
            },
        )
    )
    chunks = chunk_shape(draw, array.shape, inside=True)
    metadata = {"compression": coder, "dataType": array.dtype.name}
    metadata |= {"dimensions": list(array.shape[::-1]), "blockSize": list(chunks[::-1])}
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": str(path / name)},
        "metadata": metadata,
    }
    stored = tensorstore.open(spec, create=True).result()
    part = written_part(draw, array.shape)
    stored[tuple(part[::-1])].write(array[part].T).result()
    if draw.random() < 0.2:
        head = path / name / "attributes.json"
        head.write_text(json.dumps({**json.loads(head.read_text()), "note": {"a": [1]}}))
    case.about += f"tensorstore {name} {array.dtype} {array.shape} {chunks} {coder}; "
    return np.asarray(stored.read().result()).T
