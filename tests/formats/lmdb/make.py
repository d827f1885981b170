"""Writes the files of this folder; needs lmdb. Run in this folder: python make.py

The files in the repository were written by lmdb 3.0.0 with liblmdb 0.9.36.
"""

import io
import json
import os
import pickle
import struct

import lmdb
import numpy as np
from PIL import Image

COUNT = 4


def pixels(number):
    return np.random.default_rng(number).integers(0, 256, (9, 6 + number, 3), np.uint8)


def png(number, padding=0):
    out = io.BytesIO()
    Image.fromarray(pixels(number)).save(out, "PNG")
    return out.getvalue() + bytes(padding)


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def datum(channels, height, width, data, label, encoded=False, floats=()):
    out = b"\x08" + varint(channels) + b"\x10" + varint(height) + b"\x18" + varint(width)
    if data:
        out += b"\x22" + varint(len(data)) + data
    out += b"\x28" + varint(label)
    for value in floats:
        out += b"\x35" + struct.pack("<f", value)
    return out + (b"\x38\x01" if encoded else b"")


def small(number):
    return np.random.default_rng(100 + number).integers(0, 256, (3, 4, 5), np.uint8)


def write(name, values):
    base = lmdb.open(name, map_size=1 << 20, subdir=False, lock=False)
    with base, base.begin(write=True) as change:
        for key, value in values:
            change.put(key, value)


for old in os.listdir():
    if old.endswith(".mdb"):
        os.remove(old)
keys = [f"set/{n:03}" for n in range(COUNT)]
# The first three values need two leaves below a branch; the last value is larger than a page.
write(
    "images.mdb",
    [(k.encode(), png(n, 5000 if n == 3 else 1500)) for n, k in enumerate(keys)]
    + [(b"__len__", pickle.dumps(COUNT)), (b"__keys__", pickle.dumps(keys))],
)
write(
    "datums.mdb", [(k.encode(), datum(3, 4, 5, small(n).tobytes(), n)) for n, k in enumerate(keys)]
)
write(
    "encoded.mdb", [(k.encode(), datum(3, 9, 6, png(n), 10 + n, True)) for n, k in enumerate(keys)]
)
# As in ImageFolder2LMDB, values are pickles of (bytes, label), and __keys__ has the order. LMDB
# sorts keys as text.
listed = [str(8 + n).encode() for n in range(COUNT)]
labels = [3, np.int64(4), 5, True]
write(
    "pairs.mdb",
    [(k, pickle.dumps((png(n), labels[n]), 2 + n)) for n, k in enumerate(listed)]
    + [(b"__keys__", pickle.dumps(listed)), (b"__len__", pickle.dumps(COUNT))],
)
expected = {
    "keys": keys,
    "pixels": [pixels(n).tolist() for n in range(COUNT)],
    "small": [small(n).tolist() for n in range(COUNT)],
}
with open("expected.json", "w") as out:
    json.dump(expected, out, separators=(",", ":"))
