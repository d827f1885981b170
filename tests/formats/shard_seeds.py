"""Writes the seeds of fuzz/corpus/zarr_shard: chunks per axis, flags of the table, shard."""

import struct
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "zarr_shard"
AT_END, CHECKSUM, HUGE = 1, 2, 4
MISSING = 2**64 - 1


def crc32c(data):
    sum_ = 0xFFFFFFFF
    for byte in data:
        sum_ ^= byte
        for _ in range(8):
            sum_ = (sum_ >> 1) ^ (0x82F63B78 if sum_ & 1 else 0)
    return sum_ ^ 0xFFFFFFFF


def shard(axes, kind, entries, data=b"chunk" * 4):
    table = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    if kind & CHECKSUM:
        table += struct.pack("<I", crc32c(table))
    return bytes([axes[0] - 1, axes[1] - 1, kind]) + (
        data + table if kind & AT_END else table + data
    )


def main():
    CORPUS.mkdir(exist_ok=True)
    good = [(0, 5), (5, 5), (MISSING, MISSING), (10, 10)]
    for kind in (0, AT_END, CHECKSUM, AT_END | CHECKSUM):
        (CORPUS / f"good-{kind}").write_bytes(shard((2, 2), kind, good))
    bad = {
        "behind-the-end": [(0, 5), (90, 5), (5, 80), (MISSING, 1)],
        "half-missing": [(MISSING, MISSING), (1, MISSING), (MISSING, 0), (0, 0)],
        "over-64-bits": [(2**64 - 4, 8), (8, 2**64 - 4), (2**63, 2**63), (1, 2**64 - 1)],
    }
    for name, entries in bad.items():
        (CORPUS / name).write_bytes(shard((2, 2), AT_END | CHECKSUM, entries))
    (CORPUS / "short").write_bytes(shard((2, 3), AT_END, good))
    (CORPUS / "one").write_bytes(shard((1, 1), AT_END | CHECKSUM, [(0, 20)]))
    (CORPUS / "many").write_bytes(shard((16, 16), AT_END | CHECKSUM, good * 64))
    (CORPUS / "huge").write_bytes(shard((2, 2), AT_END | HUGE | 0xF8, good))
    wrong = bytearray(shard((2, 2), AT_END | CHECKSUM, good))
    wrong[-1] ^= 1
    (CORPUS / "wrong-checksum").write_bytes(wrong)


if __name__ == "__main__":
    main()
