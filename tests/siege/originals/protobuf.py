"""Protocol buffers, field by field."""

from __future__ import annotations


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def length(number: int, data: bytes) -> bytes:
    """Returns a field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)
