"""A slow decoder of lanes records: the coefficients of one image. docs/internals/lanes.md says what it does and why.

    python docs/read_lanes.py train.tnd 0        prints the blocks of record 0

Needs NumPy and a zstd: Python 3.14's own, or the package zstandard.
"""

import struct
import sys

import numpy as np

ESCAPE_FROM = (14, 26, 48, 88, 127, 127, 127, 127)
SAMPLINGS = (
    (1, 1, 128, 64),
    (1, 1, 64, 64),
    (2, 1, 64, 64),
    (2, 2, 128, 64),
    (1, 2, 64, 64),
    (4, 1, 128, 64),
)
ZIGZAG = sorted(
    range(64), key=lambda p: (p // 8 + p % 8, p // 8 if (p // 8 + p % 8) % 2 else p % 8)
)


def unzstd(frame):
    try:
        from compression import zstd
    except ImportError:
        import zstandard as zstd
    return zstd.decompress(frame)


def up(a, b):
    """a / b, rounded up."""
    return -(-a // b)


class Tables:
    def __init__(self, stored):
        plain = np.frombuffer(unzstd(stored), np.uint8)
        frequencies = plain[: 24 * 514].view("<u2").reshape(24, 257)
        self.symbol = [np.repeat(np.arange(257), f) for f in frequencies]
        self.frequency = frequencies.astype(int)
        self.first = np.cumsum(frequencies, axis=1).astype(int) - self.frequency
        sets = plain[24 * 514 :].reshape(4, 144 + 8192)
        self.mask_table = sets[:, :144].reshape(4, 2, 8, 9)
        self.rice = sets[:, 144:].reshape(4, 2, 64, 64)


class Lanes:
    def __init__(self, unit):
        (count,) = struct.unpack_from("<H", unit)
        self.narrow = count == 32768
        count = 0 if self.narrow else count
        self.x = list(struct.unpack_from("<32H" if self.narrow else "<32I", unit, 2))
        at = 66 if self.narrow else 130
        self.words = list(struct.unpack_from(f"<{count}H", unit, at))
        self.tail = unit[at + 2 * count :]

    def refill(self, lane):
        if self.x[lane] < 2**15 and not self.narrow:
            self.x[lane] = self.x[lane] << 16 | self.words.pop(0)

    def bits(self, lane, count):
        out = self.x[lane] & ((1 << count) - 1)
        self.x[lane] >>= count
        self.refill(lane)
        return out

    def value(self, lane, rice):
        x = self.x[lane]
        zeros = next((i for i in range(15) if x >> i & 1), 15)
        rest = x >> (zeros + 1)
        self.x[lane] = rest >> rice
        self.refill(lane)
        return (zeros << rice | rest & ((1 << rice) - 1)) & 255

    def symbols(self, tables, numbers):
        """One symbol of each table in `numbers`, 32 to a step, escapes at the end of the step."""
        out = []
        for begin in range(0, len(numbers), 32):
            step = []
            for lane, table in enumerate(numbers[begin : begin + 32]):
                x = self.x[lane]
                symbol = int(tables.symbol[table][x & 1023])
                place = (x & 1023) - tables.first[table][symbol]
                self.x[lane] = int(tables.frequency[table][symbol] * (x >> 10) + place)
                self.refill(lane)
                step.append(symbol)
            out += [self.bits(lane, 8) if s == 256 else s for lane, s in enumerate(step)]
        return out

    def raw(self):
        for x in self.x:
            yield from (x >> i & 1 for i in range(max(1, x).bit_length() - 1))
        for byte in self.tail:
            yield from (byte >> i & 1 for i in range(8))


def read_unit(unit, ends, tables, which):
    """Blocks of a unit in its order, 64 coefficients each in natural order. `ends`: end of each component's blocks."""
    lanes, count, luma = Lanes(unit), ends[-1], ends[0]
    starts = lanes.symbols(tables, [2 * which + (b >= luma) for b in range(count)])
    octets = [min(8, s & 15) for s in starts]
    mask = [[0] * 9 for _ in range(count)]
    for octet in range(7, -1, -1):
        having = [b for b in range(count) if octets[b] > octet]
        context = [
            0
            if octets[b] == octet + 1
            else (8, 1, 2, 3, 4, 5, 6, 7, 7)[mask[b][octet + 1].bit_count()]
            for b in having
        ]
        numbers = [
            8 + int(tables.mask_table[which][int(b >= luma)][octet][c])
            for b, c in zip(having, context)
        ]
        for b, symbol in zip(having, lanes.symbols(tables, numbers)):
            mask[b][octet] = symbol
    places = [[z for z in range(1, 64) if mask[b][z // 8] >> z % 8 & 1] for b in range(count)]
    rice = [
        int(tables.rice[which][int(b >= luma)][len(p)][rank])
        for b, p in enumerate(places)
        for rank in range(len(p))
    ]
    values = [lanes.value(i % 32, r) for i, r in enumerate(rice)]
    escapes = [i for i, r in enumerate(rice) if values[i] >= ESCAPE_FROM[r]]
    for k, i in enumerate(escapes):
        values[i] = lanes.bits(k % 32, 11) << rice[i] | values[i] & ((1 << rice[i]) - 1)
    assert not lanes.words, "words are left over"

    raw = lanes.raw()
    values = iter([-(v + 1) if next(raw) else v + 1 for v in values])
    blocks = np.zeros((count, 64), int)
    dc = 0
    for b in range(count):
        dc = 0 if b in (0, *ends) else dc
        size = starts[b] >> 4
        bits = sum(next(raw) << i for i in range(size))
        dc += bits - (1 << size) + 1 if size and not bits >> (size - 1) else bits
        blocks[b][0] = dc
        for z in places[b]:
            blocks[b][ZIGZAG[z]] = next(values)
    return blocks


def read_record(record, tables):
    """The coefficients of each component: an array (rows of blocks, blocks in a row, 64)."""
    magic, kind, width, height = struct.unpack_from("<HBHH", record)
    assert magic == 0x4CFF
    h, v, unit_width, unit_height = SAMPLINGS[kind & 7]
    parts = [(h, v)] + ([(1, 1)] * 2 if kind & 7 else [])
    at = 7
    for _ in parts:
        at += {0: 65, 201: 129}.get(record[at], 1)
    across, down = up(width, unit_width), up(height, unit_height)
    lengths = struct.unpack_from(f"<{across * down}H", record, at)
    at += 2 * across * down + 4
    size = [(up(up(height * pv, v), 8), up(up(width * ph, h), 8)) for ph, pv in parts]
    out = [np.zeros((*s, 64), int) for s in size]
    for number, length in enumerate(lengths):
        y, x = divmod(number, across)
        rects = []
        for (ph, pv), (rows, columns) in zip(parts, size):
            wide, high = unit_width * ph // h // 8, unit_height * pv // v // 8
            rects.append(
                (y * high, min(y * high + high, rows), x * wide, min(x * wide + wide, columns))
            )
        ends = np.cumsum([(r[1] - r[0]) * (r[3] - r[2]) for r in rects]).tolist()
        blocks = iter(read_unit(record[at : at + length], ends, tables, kind >> 4 & 3))
        for component, (y0, y1, x0, x1) in zip(out, rects):
            for row in range(y0, y1):
                for column in range(x0, x1) if (row - y0) % 2 == 0 else range(x1 - 1, x0 - 1, -1):
                    component[row][column] = next(blocks)
        at += length + (4 if x == across - 1 else 0)
    return out


if __name__ == "__main__":
    from read_tnd import Pack

    with open(sys.argv[1], "rb") as file:
        pack = Pack(file)
        print(*read_record(pack[int(sys.argv[2])][b"image"], Tables(pack.tables)), sep="\n")
