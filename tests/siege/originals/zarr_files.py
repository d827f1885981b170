"""Random Zarr folders written by zarr-python, versions 2 and 3."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr
from zarr import codecs

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
from tests.siege.originals.values import ALL_TYPES, expected, loader_options, plain_array, swapped

BLOSC = ("lz4", "lz4hc", "zstd", "zlib", "blosclz")


def make(draw: random.Random, folder: Path) -> Case:
    path = folder / draw.choice(("data.zarr", "set"))
    write = draw.choice((_write_2, _write_3))
    if draw.random() < 0.2:
        array = plain_array(draw, draw.choice((1, 4)))
        while array[:1].size < 2:
            array = plain_array(draw, 3)
        case = Case(path, {})
        read = write(draw, str(path), None, array, case)
        # A single array is named by its folder, or is the image.
        case.fields = {"?": read.astype(read.dtype.newbyteorder("="))}
        return case
    arrays, axis = arrays_along_axis(draw, ALL_TYPES)
    case = Case(path, {}, {"axis": axis} if axis else {}, loader_options(arrays))
    zarr.open_group(path, mode="w", zarr_format=2 if write is _write_2 else 3)
    found = {}
    for name, array in arrays.items():
        found[name] = moved_back(write(draw, str(path), name, moved(array, axis), case), axis)
    if write is _write_2 and draw.random() < 0.3:
        zarr.consolidate_metadata(str(path))
    refuse_labels(case, found)
    case.fields = expected(found, numbers=False)
    return case


def _finish(draw: random.Random, stored: Any, array: np.ndarray) -> np.ndarray:
    part = written_part(draw, array.shape)
    stored[part] = array[part]
    if draw.random() < 0.2:
        stored.attrs["note"] = {"a": [1, 2], "b": "ä"}
    return np.asarray(stored[...])


def _write_2(
    draw: random.Random, path: str, name: str | None, array: np.ndarray, case: Case
) -> Any:
    dtype = swapped(draw, array.dtype)
    coders = [
        None,
        numcodecs.Zlib(draw.randrange(10)),
        numcodecs.GZip(),
        numcodecs.Zstd(draw.randint(1, 9), checksum=draw.random() < 0.3),
        numcodecs.LZ4(),
        numcodecs.BZ2(),
        numcodecs.LZMA(),
        numcodecs.Blosc(
            draw.choice(BLOSC), draw.randrange(10), draw.randrange(3), draw.choice((0, 0, 64))
        ),
    ]
    filters = (
        [numcodecs.Shuffle(draw.choice((dtype.itemsize, 4, 2, 1)))] if draw.random() < 0.2 else None
    )
    if draw.random() < 0.02:
        filters = [numcodecs.Delta(dtype)] if dtype.kind in "iu" else None
        if filters:
            case.refusals.append((r"TND-315.*delta", "filter delta"))
    options: dict[str, Any] = {
        "chunks": chunk_shape(draw, array.shape),
        "compressors": draw.choice(coders),
        "filters": filters,
        "order": draw.choice("CF"),
        "chunk_key_encoding": {"name": "v2", "separator": draw.choice("./")},
    }
    if draw.random() < 0.8:
        options["fill_value"] = fill_value(draw, array.dtype)
    case.about += f"v2 {name} {dtype.str} {array.shape} {options}; "
    stored = zarr.create_array(
        path, name=name, shape=array.shape, dtype=dtype, zarr_format=2, **options
    )
    return _finish(draw, stored, array)


def _coders_3(draw: random.Random, itemsize: int) -> list[Any]:
    coders: list[Any] = draw.choice(
        (
            [],
            [codecs.GzipCodec(level=draw.randrange(10))],
            [codecs.ZstdCodec(level=draw.randint(0, 9), checksum=draw.random() < 0.4)],
            [
                codecs.BloscCodec(
                    typesize=itemsize,
                    cname=draw.choice(BLOSC),
                    clevel=draw.randrange(10),
                    shuffle=draw.choice(("noshuffle", "shuffle", "bitshuffle")),
                )
            ],
        )
    )
    return [*coders, codecs.Crc32cCodec()] if draw.random() < 0.2 else coders


def _write_3(
    draw: random.Random, path: str, name: str | None, array: np.ndarray, case: Case
) -> Any:
    chunks = chunk_shape(draw, array.shape)
    axes = list(range(array.ndim))
    draw.shuffle(axes)
    options: dict[str, Any] = {
        "chunks": chunks,
        "compressors": _coders_3(draw, array.itemsize),
        "filters": [codecs.TransposeCodec(order=tuple(axes))] if draw.random() < 0.3 else [],
        "fill_value": fill_value(draw, array.dtype),
    }
    if array.itemsize > 1:
        options["serializer"] = codecs.BytesCodec(endian=draw.choice(("little", "big")))
    if draw.random() < 0.4:
        shards = tuple(one * draw.randint(1, 3) for one in chunks)
        options["shards"] = {"shape": shards, "index_location": draw.choice(("start", "end"))}
    elif draw.random() < 0.6:
        encoding = {"name": draw.choice(("default", "v2")), "separator": draw.choice("./")}
        options["chunk_key_encoding"] = encoding
    case.about += f"v3 {name} {array.dtype.str} {array.shape} {options}; "
    stored = zarr.create_array(
        path, name=name, shape=array.shape, dtype=array.dtype, zarr_format=3, **options
    )
    return _finish(draw, stored, array)
