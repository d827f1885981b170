"""Random LMDB files written by the package lmdb: image bytes, Caffe's Datums, pickled pairs."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.protobuf import length, varint_field
from tests.siege.originals.values import as_rgb, png, values


def make(draw: random.Random, folder: Path) -> Case:
    count = draw.choice((1, 2, 5, 40))
    names = draw.sample([f"{draw.choice('abc')}/{n:05d}.png" for n in range(60)], count)
    write = draw.choice((_plain, _encoded, _raw, _pickled, _pickled))
    samples = write(draw, count)
    path, inside = folder / "train_lmdb", draw.random() < 0.6
    stored = dict(zip(sorted(names), samples, strict=True))
    _write(draw, path, inside, {name: value for name, (value, _) in stored.items()})
    order = sorted(names)
    fields: dict[str, Any] = {"image": [stored[name][1][0] for name in order]}
    if samples[0][1][1] is not None:
        fields["label"] = [np.int64(stored[name][1][1]) for name in order]
    return Case(path, fields, keys=order, about=f"{write.__name__} {count} in a folder: {inside}")


def _write(draw: random.Random, path: Path, inside: bool, stored: dict[str, bytes]) -> None:
    environment = lmdb.open(str(path), map_size=1 << 26, subdir=inside, lock=False)
    names = list(stored)
    draw.shuffle(names)
    if draw.random() < 0.3:  # leaves free pages
        with environment.begin(write=True) as transaction:
            for number in range(30):
                transaction.put(b"old%d" % number, bytes(draw.choice((10, 3000, 9000))))
        with environment.begin(write=True) as transaction:
            for number in range(30):
                transaction.delete(b"old%d" % number)
    step = draw.choice((1, 7, len(names)))
    for start in range(0, len(names), step):
        with environment.begin(write=True) as transaction:
            for name in names[start : start + step]:
                transaction.put(name.encode(), b"x" * draw.randrange(50))
                transaction.put(name.encode(), stored[name])
    with environment.begin(write=True) as transaction:
        if draw.random() < 0.3:
            transaction.put(b"__len__", pickle.dumps(len(names), draw.choice((2, 4))))
        if draw.random() < 0.3:
            keys = [name.encode() for name in sorted(names)]
            transaction.put(b"__keys__", pickle.dumps(keys, draw.randrange(6)))
    environment.close()


def _plain(draw: random.Random, count: int) -> list[Any]:
    images = [png(draw, draw.choice((None, 40))) for _ in range(count)]
    return [(coded, (pixels, None)) for coded, pixels in images]


def _encoded(draw: random.Random, count: int) -> list[Any]:
    found = []
    for _ in range(count):
        coded, pixels = png(draw)
        label = draw.choice((0, 3, 1000))
        parts = [length(4, coded), varint_field(5, label), varint_field(7, 1)]
        draw.shuffle(parts)
        found.append((b"".join(parts), (pixels, label)))
    return found


def _raw(draw: random.Random, count: int) -> list[Any]:
    shape = (draw.choice((1, 3, 4)), draw.choice((2, 5)), draw.choice((6, 7)))
    found = []
    for _ in range(count):
        pixels, label = values(draw, "u1", shape), draw.randrange(100)
        parts = [varint_field(number + 1, side) for number, side in enumerate(shape)]
        parts += [length(4, pixels.tobytes()), varint_field(5, label)]
        found.append((b"".join(parts), (as_rgb(pixels), label)))
    return found


def _pickled(draw: random.Random, count: int) -> list[Any]:
    protocol, found = draw.randrange(6), []
    for _ in range(count):
        coded, pixels = png(draw)
        label = draw.choice((0, 7, 300, 70_000, True))
        value = draw.choice((label, label, np.int64(label), np.uint8(label % 256)))
        pair = (coded, value) if draw.random() < 0.7 else [coded, value]
        found.append((pickle.dumps(pair, protocol), (pixels, int(value))))
    return found
