"""Random RecordIO files in MXNet's layout; the package itself is no longer installable."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.values import png

MAGIC = struct.pack("<I", 0xCED7230A)


def make(draw: random.Random, folder: Path) -> Case:
    count, many = draw.choice((1, 2, 5, 9)), draw.choice((0, 0, 0, 2, 3))
    records, pixels, labels = [], [], []
    for number in range(count):
        coded, shown = png(draw)
        if draw.random() < 0.3:  # the magic number after the image, at a multiple of 4
            coded += bytes(-len(coded) % 4) + MAGIC * draw.randint(1, 2) + b"abcd"
        label = [draw.choice((0.0, 1.5, -2.0)) for _ in range(many)]
        whole = float(draw.randrange(50))
        head = struct.pack("<IfQQ", many, 0.0 if many else whole, number, 0)
        records.append(head + np.float32(label).tobytes() + coded)
        pixels.append(shown)
        labels.append(np.float32(label) if many else np.int64(whole))
    places, data = [], b""
    for record in records:
        places.append(len(data))
        data += _framed(record)
    path, order = folder / "train.rec", list(range(count))
    path.write_bytes(data)
    keys = None
    if draw.random() < 0.5:
        order = draw.sample(order, draw.randint(1, count))
        numbers = draw.sample(range(1000), len(order))
        lines = [f"{key}\t{places[one]}\n" for key, one in zip(numbers, order, strict=True)]
        (folder / "train.idx").write_text("".join(lines))
        keys = [str(one) for one in numbers]
    fields: dict[str, Any] = {"image": [pixels[one] for one in order]}
    fields["label"] = [labels[one] for one in order]
    return Case(path, fields, keys=keys, about=f"{count} records, {many} labels, index {keys}")


def _framed(data: bytes) -> bytes:
    cuts = [at for at in range(0, len(data) - 3, 4) if data[at : at + 4] == MAGIC]
    begins, ends, out = [0, *[at + 4 for at in cuts]], [*cuts, len(data)], b""
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        kind = 0 if not cuts else 1 if number == 0 else 3 if number == len(cuts) else 2
        part = data[begin:end]
        out += MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4)
    return out
