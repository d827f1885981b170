"""Independent readers for TFRecord and LMDB files, to check the output of `tundish convert`."""

import struct


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data):
    """Returns (number, value) for each field of a protocol buffer, in order."""
    at, found = 0, []
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
        else:
            assert tag & 7 == 2
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length
        found.append((tag >> 3, value))
    return found


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _integers(packed):
    at, values = 0, []
    while at < len(packed):
        value, at = _varint(packed, at)
        values.append(value - (value >> 63 << 64))
    return values


def _feature(data):
    ((kind, values),) = message(data)
    ((one, content),) = message(values)
    assert one == 1
    if kind == 1:
        return content
    if kind == 2:
        return list(struct.unpack(f"<{len(content) // 4}f", content))
    return _integers(content)


def tfrecords(data):
    """Returns each record as a dict of its features. Checks both checksums of each record."""
    at, found = 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc32c(data[at : at + 8])
        record = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc32c(record)
        ((_, features),) = message(record)
        found.append({})
        for _, entry in message(features):
            (_, name), (_, feature) = message(entry)
            found[-1][name.decode()] = _feature(feature)
        at += 16 + length
    return found


def lmdb(data, page=4096):
    """Returns the keys and values of an LMDB file in tree order. Checks the counts in the tree."""
    meta = data[page : 2 * page]  # the meta page of the first transaction
    magic, version = struct.unpack_from("<2I", meta, 16)
    assert (magic, version) == (0xBEEFC0DE, 1)
    depth, branches, leaves, overflows, entries, root, last, transaction = struct.unpack_from(
        "<H7Q", meta, 94
    )
    assert (transaction, (last + 1) * page) == (1, len(data))
    seen = {"branch": 0, "leaf": 0, "overflow": 0}
    found = {}

    def walk(number, level):
        at = number * page
        own, _, flags, lower, upper = struct.unpack_from("<Q4H", data, at)
        assert own == number
        assert 16 <= lower <= upper <= page
        seen["branch" if flags == 1 else "leaf"] += 1
        assert flags == (2 if level == depth else 1)
        assert flags == 2 or lower >= 20  # a branch has at least two children
        for place in struct.unpack_from(f"<{(lower - 16) // 2}H", data, at + 16):
            assert place % 2 == 0
            low, high, kind, length = struct.unpack_from("<4H", data, at + place)
            start = at + place + 8
            key = data[start : start + length]
            if flags == 1:
                walk(low | high << 16 | kind << 32, level + 1)
                continue
            size, start = low | high << 16, start + length
            if kind == 1:
                (first,) = struct.unpack_from("<Q", data, start)
                head, _, page_flags, pages = struct.unpack_from("<Q2HI", data, first * page)
                assert (head, page_flags, pages) == (first, 4, -(-(16 + size) // page))
                seen["overflow"] += pages
                start = first * page + 16
            found[key] = data[start : start + size]

    walk(root, 1)
    assert [seen["branch"], seen["leaf"], seen["overflow"]] == [branches, leaves, overflows]
    assert len(found) == entries
    assert list(found) == sorted(found)
    return found


def datum(data):
    """Returns the fields of a Caffe Datum by name."""
    names = {1: "channels", 2: "height", 3: "width", 4: "data", 5: "label", 7: "encoded"}
    return {names[number]: value for number, value in message(data)}
