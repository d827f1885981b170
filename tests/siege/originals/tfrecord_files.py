"""Random TFRecord files; the features are read by protobuf with TensorFlow's schema."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from tfrecord import example_pb2

from tests.siege.originals.case import Case
from tests.siege.originals.values import png

LABELS = ("label", "image/class/label", "target")


def make(draw: random.Random, folder: Path) -> Case:
    count = draw.choice((1, 2, 5, 9))
    image, label = draw.choice(("image", "image/encoded", "jpg")), draw.choice(LABELS)
    kinds = {
        name: draw.choice("ftTiI")
        for name in draw.sample(("alpha", "beta", "b c", "ä"), draw.randint(0, 3))
    }
    sizes = {name: draw.choice((1, 2, 5)) for name in kinds}
    parsed, data, pixels = [], b"", []
    for _ in range(count):
        coded, shown = png(draw)
        pixels.append(shown)
        example = example_pb2.Example()
        feature = example.features.feature
        feature[image].bytes_list.value.append(coded)
        feature[label].int64_list.value.append(draw.choice((0, 1, 77)))
        for name, kind in kinds.items():
            _add(draw, feature[name], kind, sizes[name])
        record = example.SerializeToString()
        data += _framed(record)
        read = example_pb2.Example()
        read.ParseFromString(record)
        parsed.append(read.features.feature)
    path = folder / draw.choice(("train.tfrecord", "train-00000-of-00001", "x.bin"))
    path.write_bytes(data)
    fields: dict[str, Any] = {"image": pixels}
    fields["label"] = [np.int64(one[label].int64_list.value[0]) for one in parsed]
    for name, kind in kinds.items():
        fields[name] = [_value(one[name], kind, sizes[name]) for one in parsed]
    return Case(path, fields, about=f"{count} {image} {label} {kinds} {sizes}")


def _framed(record: bytes) -> bytes:
    head = struct.pack("<Q", len(record))
    return head + _masked(head) + record + _masked(record)


def _masked(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _add(draw: random.Random, feature: Any, kind: str, size: int) -> None:
    if kind == "f":
        feature.float_list.value.extend(draw.uniform(-9, 9) for _ in range(size))
    elif kind in "iI":
        feature.int64_list.value.extend(
            draw.choice((0, -1, 1 << 40, -(1 << 63))) for _ in range(size)
        )
    else:
        text = draw.choice(("plain", "größe", "")) if kind == "t" else "x" * draw.randint(1, 20)
        feature.bytes_list.value.append((text + "!").encode())


def _value(feature: Any, kind: str, size: int) -> Any:
    if kind in "tT":
        return feature.bytes_list.value[0].decode()
    if kind == "f":
        found = np.array(feature.float_list.value, np.float32)
    else:
        found = np.array(feature.int64_list.value, np.int64)
    return found.reshape(()) if size == 1 else found
