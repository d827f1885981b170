"""Messages to the program over a socket. src/data/source/formats/python/message.h describes them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from .sample_fields import Field
from .sample_values import ELEMENT_NUMBER

ASK_DESCRIPTION = 2**64 - 1
MAX_SAMPLES = 50_000_000
_MAGIC = 0x53444E54
# Values of AnswerKind in message.h.
SAMPLE, RAISED, DIFFERS, END, DESCRIPTION, FAILED = range(6)


def description(
    fields: Sequence[Field], classes: Sequence[str], count: int | None, identity: str
) -> bytes:
    """Returns the message that describes a dataset. `count` is None for an iterator."""
    parts = [struct.pack("<BQ", count is not None, count or 0), _text(identity)]
    parts.append(struct.pack("<I", len(fields)))
    for field in fields:
        has_shape = field.shape is not None
        parts += [_text(field.name), struct.pack("<BB", field.type, has_shape)]
        if field.shape is not None:
            parts.append(struct.pack("<BB", ELEMENT_NUMBER[field.element], len(field.shape)))
            parts += [struct.pack("<Q", side) for side in field.shape]
    parts.append(struct.pack("<I", len(classes)))
    return b"".join([*parts, *map(_text, classes)])


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<I", len(data)) + data


def receive_request(connection: socket.socket) -> int | None:
    """Returns the requested sample number, or None if the program ended or closed the connection."""
    data = b""
    while len(data) < 8:
        try:
            more = connection.recv(8 - len(data))
        except ConnectionError:
            return None
        if not more:
            return None
        data += more
    return int.from_bytes(data, "little")


def send_answer(connection: socket.socket, kind: int, payload: bytes) -> bool:
    """Sends an answer. Returns False if the program closed the connection."""
    try:
        connection.sendall(struct.pack("<IIQ", _MAGIC, kind, len(payload)))
        connection.sendall(payload)
    except ConnectionError:
        return False
    return True
