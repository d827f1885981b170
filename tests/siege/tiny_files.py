"""Random files of a few kilobytes whose heads claim millions of samples, elements, pixels or bytes.

Each maker writes into an empty folder and returns the path to open. The claims are valid as often as
the format allows, so that a reader gets past the first check.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

DTYPES = ["|u1", "<i2", "<f4", "<f8", "|b1"]


def huge(chance: random.Random) -> int:
    """Returns a number of samples, elements or bytes, mostly far beyond the stored data."""
    return chance.choice(
        [0, 1, 3, 10**5, 10**6, 50_000_000, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1]
    )


def huge_shape(chance: random.Random) -> list[int]:
    shape = [huge(chance)]
    shape += [
        chance.choice([1, 2, 3, 64, 1024, 10**5, 2**31, 2**40]) for _ in range(chance.randint(0, 3))
    ]
    return shape


def bomb(chance: random.Random, compress: Callable[[bytes], bytes] = zlib.compress) -> bytes:
    return compress(bytes(chance.choice([1, 1000, 1 << 20, 1 << 25])))


def npy_head(chance: random.Random) -> bytes:
    about = {"descr": chance.choice(DTYPES), "fortran_order": chance.random() < 0.3}
    text = repr(about | {"shape": tuple(huge_shape(chance))}).encode()
    text += b" " * ((-len(text) - 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def make_npy(chance: random.Random, folder: Path) -> Path:
    (folder / "a.npy").write_bytes(npy_head(chance) + bytes(chance.randint(0, 2000)))
    return folder / "a.npy"


def make_npz(chance: random.Random, folder: Path) -> Path:
    with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name in ["image", "label", "c", "d"][: chance.randint(1, 4)]:
            size = chance.choice([0, 1000, 1 << 20, 1 << 25])
            file.writestr(f"{name}.npy", npy_head(chance) + bytes(size))
    return folder / "a.npz"


def make_safetensors(chance: random.Random, folder: Path) -> Path:
    tensors = {}
    for name in ["image", "label"][: chance.randint(1, 2)]:
        begin, end = sorted((huge(chance), huge(chance)))
        tensors[name] = {"dtype": "U8", "shape": huge_shape(chance), "data_offsets": [begin, end]}
    text = json.dumps(tensors).encode()
    length = chance.choice([len(text), len(text), huge(chance)])
    (folder / "a.safetensors").write_bytes(struct.pack("<Q", length) + text + bytes(100))
    return folder / "a.safetensors"


def make_pth(chance: random.Random, folder: Path) -> Path:
    """Writes torch.save's zip form with one tensor, whose storage is shorter than its shape."""
    shape = tuple(huge_shape(chance))
    stride = tuple(chance.choice([0, 1, huge(chance)]) for _ in shape)
    count = huge(chance)
    storage = "(X\x07\x00\x00\x00storagectorch\nByteStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    code = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage.encode()
    code += number(count) + b"tQ" + number(0)
    for numbers in (shape, stride):
        code += b"(" + b"".join(map(number, numbers)) + b"t"
    code += b"\x89ccollections\nOrderedDict\n)RtR."
    with zipfile.ZipFile(folder / "a.pth", "w") as file:
        file.writestr("a/data.pkl", code)
        file.writestr("a/data/0", bytes(chance.choice([0, 100, 1000])))
        file.writestr("a/version", "3\n")
    return folder / "a.pth"


def number(value: int) -> bytes:
    """Returns a pickled int."""
    data = value.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def make_idx(chance: random.Random, folder: Path) -> Path:
    axes = chance.choice([1, 3, 4])
    sizes = [min(huge(chance), 2**32 - 1) for _ in range(axes)]
    head = bytes([0, 0, 8, axes]) + b"".join(struct.pack(">I", size) for size in sizes)
    name = folder / f"a-idx{axes}-ubyte"
    if chance.random() < 0.5:
        name = name.with_suffix(".gz")
        name.write_bytes(gzip.compress(head + bytes(chance.choice([0, 1000, 1 << 25]))))
    else:
        name.write_bytes(head + bytes(chance.randint(0, 1000)))
    return name


def make_cifar(chance: random.Random, folder: Path) -> Path:
    name = folder / "data_batch_1"
    value: object = b"\0" * 3072
    for _ in range(chance.randint(1, 12)):
        value = [value] * chance.choice([2, 10, 40])
    name.write_bytes(pickle.dumps({b"data": value, b"labels": [0] * 3}, protocol=2))
    return name


def make_lmdb(chance: random.Random, folder: Path) -> Path:
    """Writes two meta pages whose trees claim many pages, entries and levels."""
    page = 4096
    pages = []
    for transaction in range(2):
        tree = struct.pack("<IHHQQQQQ", 0, 0, 0, 0, 0, 0, 0, 2**64 - 1)
        depth, entries = chance.choice([1, 2, 60, 65535]), huge(chance)
        root = chance.choice([2, 3, huge(chance)])
        main = struct.pack("<IHHQQQQQ", 0, 0, depth, huge(chance), huge(chance), 0, entries, root)
        last = chance.choice([1, 3, huge(chance)])
        meta = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, huge(chance)) + tree + main
        meta += struct.pack("<QQ", last, transaction)
        data = struct.pack("<QHHHH", transaction, 0, 8, 0, 0) + meta
        pages.append(data.ljust(page, b"\0"))
    for own in (2, 3):  # branch pages that point at each other, or leaves with large claims
        count = chance.randint(1, 100)
        lower = 16 + 2 * count
        kind = chance.choice([1, 2])
        data = struct.pack("<QHHHH", own, 0, kind, lower, page - 16)
        data += struct.pack(f"<{count}H", *[page - 16] * count)
        node = struct.pack(
            "<HHHH", chance.choice([2, 3, 65535]), chance.choice([0, 1, 65535]), 1, 4
        )
        pages.append(data.ljust(page - 16, b"\0") + node.ljust(16, b"k"))
    (folder / "data.mdb").write_bytes(b"".join(pages))
    return folder / "data.mdb"


def make_tfrecord(chance: random.Random, folder: Path) -> Path:
    length = struct.pack("<Q", chance.choice([huge(chance), 2**64 - 1]))
    data = length + struct.pack("<I", masked_crc(length)) + bytes(chance.randint(0, 2000))
    if chance.random() < 0.3:
        (folder / "a.tfrecord.gz").write_bytes(gzip.compress(data + bytes(1 << 25)))
        return folder / "a.tfrecord.gz"
    (folder / "a.tfrecord").write_bytes(data)
    return folder / "a.tfrecord"


def masked_crc(data: bytes) -> int:
    """Returns TFRecord's masked CRC32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def make_recordio(chance: random.Random, folder: Path) -> Path:
    length = chance.choice([100, 2**29 - 1]) | chance.choice([0, 1, 2, 3]) << 29
    head = struct.pack("<II", 0xCED7230A, length)
    about = struct.pack("<IfQQ", chance.choice([0, 1, 2**31, 2**32 - 1]), 0.0, huge(chance), 0)
    (folder / "a.rec").write_bytes((head + about + bytes(76)) * chance.randint(1, 5))
    if chance.random() < 0.5:
        rows = "".join(f"{key}\t{chance.choice([0, 108, huge(chance)])}\n" for key in range(5))
        (folder / "a.idx").write_text(rows)
    return folder / "a.rec"


def make_tar(chance: random.Random, folder: Path) -> Path:
    """Writes members that claim up to 8 EiB, sparse maps, and long names."""
    member = tarfile.TarInfo("cat/1.jpg")
    member.size = chance.choice([0, 100, 2**33, 2**40, 2**62])
    headers = {}
    if chance.random() < 0.5:
        headers = {"GNU.sparse.realsize": str(huge(chance)), "GNU.sparse.name": "cat/2.jpg"}
        headers |= {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    if chance.random() < 0.5:
        headers["size"] = str(huge(chance))
    member.pax_headers = headers
    data = member.tobuf(tarfile.PAX_FORMAT) + bytes(chance.randint(0, 2048))
    name = folder / "a.tar"
    if chance.random() < 0.4:
        data = gzip.compress(data + bytes(chance.choice([0, 1 << 25])))
        name = folder / "a.tar.gz"
    name.write_bytes(data)
    return name


def make_csv(chance: random.Random, folder: Path) -> Path:
    rows = ["path,label,path:offset,path:bytes"]
    for _row in range(chance.randint(1, 50)):
        rows.append(f"a.bin,{huge(chance)},{huge(chance)},{huge(chance)}")
    (folder / "a.bin").write_bytes(b"x")
    (folder / "a.csv").write_text("\n".join(rows))
    return folder / "a.csv"


def make_zarr(chance: random.Random, folder: Path) -> Path:
    top = folder / "a.zarr"
    for name in ["image", "label", "c"][: chance.randint(1, 3)]:
        shape = huge_shape(chance)
        chunks = [chance.choice([1, max(size, 1), 1 << 20]) for size in shape]
        array = top / name
        array.mkdir(parents=True)
        if chance.random() < 0.5:
            about = {
                "zarr_format": 2,
                "shape": shape,
                "chunks": chunks,
                "dtype": chance.choice(DTYPES),
            }
            about |= {"compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "order": "C"}
            (array / ".zarray").write_text(json.dumps(about | {"filters": None}))
            (array / ".".join("0" for _ in shape)).write_bytes(bomb(chance))
        else:
            (array / "zarr.json").write_text(json.dumps(zarr_3(chance, shape, chunks)))
            target = array / "c" / "/".join("0" for _ in shape)
            target.parent.mkdir(parents=True)
            target.write_bytes(bomb(chance, gzip.compress))
        if chance.random() < 0.3:
            break
    (top / ".zgroup").write_text('{"zarr_format": 2}')
    return top


def zarr_3(chance: random.Random, shape: list[int], chunks: list[int]) -> dict[str, object]:
    codecs: list[object] = [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]
    if chance.random() < 0.5:
        inner = {"chunk_shape": [1] * len(shape), "codecs": codecs, "index_location": "end"}
        inner["index_codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}]
        codecs = [{"name": "sharding_indexed", "configuration": inner}]
    grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
    about: dict[str, object] = {"zarr_format": 3, "node_type": "array", "shape": shape}
    about |= {"data_type": "uint8", "chunk_grid": grid, "fill_value": 0, "codecs": codecs}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    return about | {"chunk_key_encoding": keys, "attributes": {}}


def make_n5(chance: random.Random, folder: Path) -> Path:
    top = folder / "a.n5"
    for name in ["image", "label"][: chance.randint(1, 2)]:
        shape = huge_shape(chance)
        block = [chance.choice([1, max(size, 1), 1 << 20]) for size in shape]
        (top / name).mkdir(parents=True)
        about = {"dimensions": shape, "blockSize": block, "dataType": "uint8"}
        about["compression"] = {"type": "gzip", "level": -1}
        (top / name / "attributes.json").write_text(json.dumps(about))
        target = top / name / "/".join("0" for _ in shape)
        target.parent.mkdir(parents=True, exist_ok=True)
        head = struct.pack(">HH", 0, len(shape)) + b"".join(
            struct.pack(">I", min(size, 2**32 - 1)) for size in block
        )
        target.write_bytes(head + bomb(chance, gzip.compress))
    (top / "attributes.json").write_text('{"n5": "2.0.0"}')
    return top


def countable(shape: list[int]) -> tuple[int, ...]:
    """Returns the shape with its last sides cut, so that libhdf5 can count the elements."""
    left = 2**59  # of 8 bytes at most
    out = []
    for size in shape:
        out.append(min(size, left))
        left //= max(out[-1], 1)
    return tuple(max(size, 1) if place else size for place, size in enumerate(out))


def chunk_number(place: tuple[int, ...], shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    """Returns the index of the chunk that holds an element, in C order."""
    number = 0
    for at, size, side in zip(place, shape, chunks, strict=True):
        number = number * -(-size // side) + at // side
    return number


def make_hdf5(chance: random.Random, folder: Path) -> Path:
    """Writes h5py datasets that are declared and mostly not written."""
    import h5py
    import numpy as np

    name = folder / "a.h5"
    with h5py.File(name, "w", libver=chance.choice(["earliest", "latest"])) as file:
        for array in ["image", "label", "c"][: chance.randint(1, 3)]:
            shape = countable(huge_shape(chance))
            kind = chance.choice(["chunked", "contiguous", "strings", "groups", "virtual"])
            if kind == "chunked":
                chunks = tuple(chance.choice([1, min(max(size, 1), 1000)]) for size in shape)
                growing = (None, *shape[1:]) if chance.random() < 0.5 or not shape[0] else shape
                compression = chance.choice([None, "gzip"])
                made = file.create_dataset(
                    array, shape, "u1", chunks=chunks, maxshape=growing, compression=compression
                )
                for _ in range(chance.randint(0, 20)):
                    place = tuple(chance.randrange(max(size, 1)) for size in shape)
                    if all(shape) and chunk_number(place, shape, chunks) < 2**32:
                        made[place] = 1  # libhdf5's arrays of chunks have no larger indexes
            elif kind == "contiguous":
                file.create_dataset(array, shape, chance.choice(["u1", "f8"]), track_times=False)
            elif kind == "strings":
                count = min(max(shape[0], 1), 10**7)
                chunks = (min(count, 1000),)
                file.create_dataset(array, (count,), h5py.vlen_dtype(np.uint8), chunks=chunks)
            elif kind == "groups":
                for number in range(chance.choice([10, 300])):
                    file.create_dataset(
                        f"{array}{number}/x",
                        shape,
                        "u1",
                        maxshape=(None, *shape[1:]),
                        chunks=tuple(1 for _ in shape),
                    )
            else:
                length = min(max(shape[0], 1), 10**6)
                layout = h5py.VirtualLayout((length,), "u1")
                for part in range(min(length, 200)):
                    layout[part] = h5py.VirtualSource("other.h5", "x", (1,))[0]
                file.create_virtual_dataset(array, layout)
    return name


def png(width: int, height: int) -> bytes:
    def piece(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(bytes(1 << 22)))
    return b"\x89PNG\r\n\x1a\n" + data + piece(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", progressive=True)
    data = bytearray(file.getvalue())
    place = data.index(b"\xff\xc2") + 5
    data[place : place + 4] = struct.pack(">HH", height, width)
    return bytes(data)


def bmp(width: int, height: int) -> bytes:
    about = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + about + bytes(100)


def gif(width: int, height: int) -> bytes:
    size = struct.pack("<HH", width & 0xFFFF, height & 0xFFFF)
    block = b"," + struct.pack("<HH", 0, 0) + size + b"\x00\x02\x02\x4c\x01\x00;"
    return b"GIF89a" + size + b"\x80\x00\x00" + bytes(6) + block


def make_folder(chance: random.Random, folder: Path) -> Path:
    """Writes images whose headers claim 65,535 x 65,535 pixels or more."""
    (folder / "cat").mkdir()
    for place in range(chance.randint(1, 6)):
        maker = chance.choice([png, jpeg, bmp, gif])
        side = chance.choice([100, 10_000, 65_500, 65_535])
        other = chance.choice([1, side, 65_500])
        (folder / "cat" / f"{place}.{maker.__name__}").write_bytes(maker(side, other))
    return folder


MAKERS: dict[str, Callable[[random.Random, Path], Path]] = {
    name.removeprefix("make_"): maker
    for name, maker in list(globals().items())
    if name.startswith("make_")
}


def make(name: str, seed: int, folder: Path) -> Path:
    """Writes the file of a seed into a separate folder and returns the path to open."""
    os.makedirs(folder)
    return MAKERS[name](random.Random(f"{name} {seed}"), folder)
