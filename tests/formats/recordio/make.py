"""Writes the files of this folder in MXNet's layout, without mxnet, which is no longer installable.

Follows mx.recordio.MXIndexedRecordIO, pack and pack_img. Run in this folder: python make.py
"""

import io
import json
import struct

import numpy as np
from PIL import Image

MAGIC = struct.pack("<I", 0xCED7230A)
COUNT = 5


def pixels(number):
    return np.random.default_rng(number).integers(0, 256, (6, 5 + number, 3), np.uint8)


def png(number):
    out = io.BytesIO()
    Image.fromarray(pixels(number)).save(out, "PNG")
    return out.getvalue()


def pack(label, number, image):
    """Packs like mx.recordio.pack."""
    if isinstance(label, list):
        head = struct.pack("<IfQQ", len(label), 0, number, 0) + np.float32(label).tobytes()
    else:
        head = struct.pack("<IfQQ", 0, label, number, 0)
    return head + image


def record(data):
    """Frames like dmlc's RecordIOWriter, which splits data at 4-byte-aligned magic numbers."""
    cuts = [at for at in range(0, len(data) - 3, 4) if data[at : at + 4] == MAGIC]
    begins = [0] + [at + 4 for at in cuts]
    ends = [*cuts, len(data)]
    out = b""
    for number, (begin, end) in enumerate(zip(begins, ends)):
        kind = 0 if not cuts else 1 if number == 0 else 3 if number == len(cuts) else 2
        part = data[begin:end]
        out += MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4)
    return out


def write(name, records, order=None):
    places, out = [], b""
    for data in records:
        places.append(len(out))
        out += record(data)
    with open(name + ".rec", "wb") as file:
        file.write(out)
    if order:
        with open(name + ".idx", "w") as file:
            file.writelines(f"{key}\t{places[number]}\n" for key, number in order)


def with_magic(number):
    """Appends the magic number twice to a PNG, at a multiple of 4 bytes in the record."""
    image = png(number)
    return image + bytes(-len(image) % 4) + MAGIC + b"abcd" + MAGIC + MAGIC


write("plain", [pack(float(n * 2), n, png(n)) for n in range(COUNT)])
write("indexed", [pack(float(n * 2), n, png(n)) for n in range(COUNT)], [(7, 3), (8, 0)])
write("vectors", [pack([n / 4, 1.5, -2.0], n, png(n)) for n in range(COUNT)])
write("parts", [pack(float(n * 2), n, with_magic(n)) for n in range(COUNT)])
with open("expected.json", "w") as out:
    json.dump({"pixels": [pixels(n).tolist() for n in range(COUNT)]}, out, separators=(",", ":"))
