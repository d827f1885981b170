"""Reads a Tundish pack (.tnd, version 1) in plain Python. docs/internals/format.md explains every step.

python3 read_tnd.py PACK.tnd                 list the records and check every checksum
python3 read_tnd.py PACK.tnd NUMBER [FIELD]  write one field of one record to the output
"""

import json
import re
import struct
import sys

try:  # the digest over the whole file is checked only where this package is installed
    import xxhash
except ImportError:
    xxhash = None

HEAD_MAGIC, TAIL_MAGIC, END_MAGIC = b"\x89TND\r\n\x1a\n", b"TND tail", b"TND end\n"
HEAD, TAIL = struct.Struct("<8sIIQQ16s12xI"), struct.Struct("<8sQQ8Q16s16s4xI8s")
NO_RECORD, NAMES_PIECE, NAMES_PER_BLOCK = 2**64 - 1, 2**32 - 1, 1024
METADATA, TABLES, INDEX = 1, 2, 4  # numbers of pieces; the head is 0, the tail 5
CODECS = ["as it came", "jpeg", "png", "npy", "lanes", "raw", "webp", "bmp", "gif"]

TABLE = list(range(256))  # what eight steps of CRC32C make of a byte
for _ in range(8):
    TABLE = [(word >> 1) ^ (0x82F63B78 if word & 1 else 0) for word in TABLE]


def piece_crc(record, piece, payload):
    """CRC32C over the record's number, the piece's number and the bytes; masked as in LevelDB."""
    crc = 0xFFFFFFFF
    for byte in struct.pack("<QI", record, piece) + payload:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def require(condition, what):
    if not condition:
        raise ValueError(what)


def up_to(offset, alignment):
    return -(-offset // alignment) * alignment


def unescape(text):
    """Names are bytes: what is not UTF-8 is in the JSON as \\xNN, a backslash as \\\\."""
    plain = text.encode()
    return re.sub(rb"\\(\\|x..)", lambda m: bytes.fromhex(m[1][1:].decode()) or b"\\", plain)


class Pack:
    def __init__(self, file):
        self.file = file  # opened as "rb"
        self.size = size = file.seek(0, 2)
        head = self.bytes_at(0, min(size, HEAD.size))
        require(head[:8] == HEAD_MAGIC, "not a pack")
        require(size >= HEAD.size + TAIL.size, "incomplete")
        _, version, self.alignment, incompatible, _, self.id, crc = HEAD.unpack(head)
        require(version == 1 and incompatible & ~9 == 0, "it needs a newer reader")  # 8: arrays
        require(crc == piece_crc(NO_RECORD, 0, head[:60]), "the head is damaged")
        lanes = incompatible & 1
        require(self.alignment in [2**n for n in range(3, 13)], "the alignment is impossible")
        self.tail_offset = size - TAIL.size
        tail = self.bytes_at(self.tail_offset, TAIL.size)
        first, length, self.count, *sections, tail_id, self.digest, crc, last = TAIL.unpack(tail)
        require(last == END_MAGIC, "incomplete: the tail is missing")
        require(crc == piece_crc(NO_RECORD, 5, tail[:124]), "the tail is damaged")
        require(first == TAIL_MAGIC and length == size and tail_id == self.id, "a lying tail")
        metadata, tables, names, index = zip(sections[::2], sections[1::2], strict=True)
        self.metadata = json.loads(self.piece(NO_RECORD, METADATA, *metadata))
        self.tables = self.piece(NO_RECORD, TABLES, *tables)  # see read_lanes.py
        require((self.tables != b"") == lanes, "tables without lanes, or none")
        schema = self.metadata["schema"]
        self.classes = [unescape(name) for name in schema["classes"]]
        self.fields = [(unescape(field["name"]), field["type"]) for field in schema["fields"]]
        self.stored = [f for f, (_, kind) in enumerate(self.fields) if kind != "label"]
        # The index: one column after the other.
        blocks = -(-self.count // NAMES_PER_BLOCK)
        columns = len(self.stored) + lanes  # one more for restore data
        expected = self.count * (8 * columns + 18) + 8 * blocks + 4
        require(index[1] == expected, "the index contradicts the number of records")
        raw, at = self.piece(NO_RECORD, INDEX, *index), 0

        def column(code, items):
            nonlocal at
            layout = struct.Struct(f"<{items}{code}")
            at += layout.size
            return layout.unpack_from(raw, at - layout.size)

        lengths = [column("Q", self.count) for _ in range(columns)]
        restore = lengths.pop() if lanes else ()
        self.labels, names_bytes = column("q", self.count), column("Q", blocks)
        self.widths, self.heights = (column("I", self.count) for _ in "wh")
        self.codecs, self.orientations = (column("B", self.count) for _ in "co")
        # The positions of the records follow from their lengths: (offset, bytes) of every stored field.
        self.places, self.keys, at = [], [], 64
        for record in range(self.count):
            at = up_to(at, self.alignment)
            self.places.append(places := [])
            for length in lengths:
                places.append((at, length[record] + 4))
                at += length[record] + 4
            at += restore[record] + 4 if lanes and self.codecs[record] == 4 else 0
        require(up_to(at, 8) == metadata[0], "the records do not end where the metadata begin")
        self.read_names(names[0], names_bytes)

    def read_names(self, at, names_bytes):
        for block, length in enumerate(names_bytes):
            raw, at = self.piece(block, NAMES_PIECE, at, length), at + length
            inside = min(NAMES_PER_BLOCK, self.count - block * NAMES_PER_BLOCK)
            place = 4 * inside
            for length in struct.unpack_from(f"<{inside}I", raw):
                self.keys.append(raw[place : place + length])
                place += length

    def bytes_at(self, offset, length):
        self.file.seek(offset)
        return self.file.read(length)

    def piece(self, record, piece, offset, length):
        """A piece of the file without its checksum, which is its last four bytes."""
        require(length >= 4 and offset + length <= self.size, f"no {length} bytes at {offset}")
        raw = self.bytes_at(offset, length)
        payload, stored = raw[:-4], int.from_bytes(raw[-4:], "little")
        require(stored == piece_crc(record, piece, payload), f"damaged: the piece at byte {offset}")
        return payload

    def __getitem__(self, record):
        """The stored fields of a record, by name."""
        places = zip(self.stored, self.places[record], strict=True)
        return {self.fields[f][0]: self.piece(record, f, *place) for f, place in places}


def main(path, number=None, field="image"):
    with open(path, "rb") as file:
        pack = Pack(file)
        if number is not None:
            return sys.stdout.buffer.write(pack[int(number)][field.encode()])
        for i in range(pack.count):
            codec, shape = CODECS[pack.codecs[i]], f"{pack.widths[i]}x{pack.heights[i]}"
            print(i, pack.keys[i], pack.labels[i], codec, shape, sum(map(len, pack[i].values())))
        if xxhash:
            digest = xxhash.xxh3_128(pack.bytes_at(64, pack.tail_offset - 64)).digest()
            require(digest == pack.digest, "the digest over the file differs")
        print(f"{pack.count} records, all valid, pack id {pack.id.hex()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
