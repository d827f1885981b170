"""Makes a pack with records that pass every checksum but cannot be decoded.

python -m tests.gpu.hostile_set PACK OUT [EVERY]     every tenth lanes record by default
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from tests.helpers.readers import reader

read_lanes, read_tnd = reader("read_lanes"), reader("read_tnd")


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ read_tnd.TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def spoil(record: bytearray) -> None:
    """Sets the word count of every unit to 0, although its lanes need words; corrects checksums."""
    _, kind, width, height = struct.unpack_from("<HBHH", record)
    _, _, unit_width, unit_height = read_lanes.SAMPLINGS[kind & 7]
    at = 7
    for _ in range(3 if kind & 7 else 1):
        at += {0: 65, 201: 129}.get(record[at], 1)
    across, down = read_lanes.up(width, unit_width), read_lanes.up(height, unit_height)
    lengths = struct.unpack_from(f"<{across * down}H", record, at)
    at += 2 * across * down
    (head_crc,) = struct.unpack_from("<I", record, at)
    at += 4
    for row in range(down):
        begin = at
        for length in lengths[row * across : (row + 1) * across]:
            struct.pack_into("<H", record, at, 0)
            at += length
        crc = masked_crc(struct.pack("<II", head_crc, row) + record[begin:at])
        struct.pack_into("<I", record, at, crc)
        at += 4


def make(pack: Path, out: Path, every: int = 10) -> list[int]:
    """Returns the numbers of the damaged records."""
    content = bytearray(pack.read_bytes())
    spoilt = []
    with pack.open("rb") as file:
        index = read_tnd.Pack(file)
        image = [kind for _, kind in index.fields].index("image")
        column = index.stored.index(image)
        for number in range(0, index.count, every):
            if read_tnd.CODECS[index.codecs[number]] != "lanes":
                continue
            offset, length = index.places[number][column]
            record = content[offset : offset + length - 4]
            spoil(record)
            content[offset : offset + length - 4] = record
            crc = read_tnd.piece_crc(number, image, bytes(record))
            struct.pack_into("<I", content, offset + length - 4, crc)
            spoilt.append(number)
    out.write_bytes(content)
    return spoilt


if __name__ == "__main__":
    numbers = make(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
    print(f"{len(numbers)} records of {sys.argv[2]} cannot be decoded")
