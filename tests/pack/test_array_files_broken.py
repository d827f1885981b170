"""Broken CIFAR, MNIST, NumPy and safetensors files: each is refused with its reason."""

import gzip
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest

from tests.helpers.program import needs_program
from tests.helpers.sources import error_of, exit_code_of

pytestmark = needs_program

IMAGES = np.arange(4 * 6 * 5 * 3, dtype=np.uint8).reshape(4, 6, 5, 3)


def refused(path, data, code, reason):
    """Checks the program's exit code, and that its message has the reason and the file."""
    path.write_bytes(data)
    found, message = error_of("info", "--list", path, exit_code=exit_code_of(code))
    assert (found, reason in message) == (code, True), message
    assert path.name in message


def npy(array=IMAGES, **changes):
    file = io.BytesIO()
    np.save(file, array)
    data = file.getvalue()
    for old, new in changes.values():
        assert old in data
        data = data.replace(old, new.ljust(len(old)))
    return data


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (npy()[:-1], "TND-314", "leave the file"),
        (npy()[:40], "TND-314", "the file ends inside its header"),
        (npy()[:9], "TND-314", "the file ends inside its header"),
        (npy(a=(b"(4, 6, 5, 3)", b"(9, 6, 5, 3)")), "TND-314", "leave the file"),
        (
            npy(a=(b"(4, 6, 5, 3), }" + b" " * 20, b"(9999999999, 9999999999)}")),
            "TND-314",
            "64 bits",
        ),
        (npy(a=(b"'descr'", b"'other'")), "TND-314", "no dictionary of the known form"),
        (npy(a=(b"NUMPY\x01", b"NUMPY\x09")), "TND-315", ".npy version 9.0"),
        (npy(np.array(["a", "b"])), "TND-315", "elements of type '<U1'"),
        (npy(np.array([object()])), "TND-315", "Python objects are not loaded"),
        (npy(np.zeros(3, [("a", "u1")])), "TND-315", "a structured type"),
        (npy(np.zeros((3, 0), np.uint8)), "TND-315", "have no elements of their own"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + npy()[10:], "TND-315", "a header of"),
    ],
)
def test_broken_npy_is_refused(data, code, reason, tmp_path):
    refused(tmp_path / "x.npy", data, code, reason)


def npz(compressed=True):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, x=IMAGES, y=np.arange(4))
    return bytearray(file.getvalue())


def member_offsets(data, name):
    """Returns the offsets of a member's bytes and of its directory entry."""
    info = zipfile.ZipFile(io.BytesIO(data)).getinfo(name)
    local = info.header_offset
    sizes = struct.unpack_from("<HH", data, local + 26)
    entry = data.index(b"PK\x01\x02")
    while data[entry + 46 : entry + 46 + len(name)] != name.encode():
        entry = data.index(b"PK\x01\x02", entry + 1)
    return local + 30 + sum(sizes), entry


def put(data, offset, form, value):
    struct.pack_into(form, data, offset, value)
    return data


def test_truncated_npz_is_refused(tmp_path):
    refused(tmp_path / "a.npz", npz()[:-10], "TND-314", "the file may be cut short")


def test_npz_with_a_wrong_checksum_is_refused(tmp_path):
    data = npz()
    entry = member_offsets(data, "x.npy")[1]
    wrong = put(data, entry + 16, "<I", 1)
    refused(tmp_path / "a.npz", wrong, "TND-314", "member 'x.npy' fails its checksum")


def test_npz_with_damaged_deflate_data_is_refused(tmp_path):
    data = npz()
    begin = member_offsets(data, "x.npy")[0]
    data[begin] |= 6  # a block type that deflate does not define
    refused(tmp_path / "a.npz", data, "TND-314", "member 'x.npy' cannot be unpacked")


def test_npz_with_wrong_sizes_is_refused(tmp_path):
    data = npz(compressed=False)
    entry = member_offsets(data, "x.npy")[1]
    refused(
        tmp_path / "a.npz", put(data[:], entry + 24, "<I", 7), "TND-314", "two sizes contradict"
    )
    for offset in (20, 24):
        put(data, entry + offset, "<I", 2**31)
    refused(tmp_path / "a.npz", data, "TND-314", "a member leaves the file")


def test_npz_with_a_mismatched_directory_is_refused(tmp_path):
    data = npz(compressed=False)
    entry = member_offsets(data, "y.npy")[1]
    wrong = put(data, entry + 42, "<I", 0)  # where x.npy starts
    refused(tmp_path / "a.npz", wrong, "TND-314", "own header differs from the directory")


def test_npz_with_overlapping_members_is_refused(tmp_path):
    """The bytes of the first member contain the second member with its header, as in zip bombs."""

    def local(name, data):
        sizes = (zlib.crc32(data), len(data), len(data), len(name), 0)
        return struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, *sizes) + name + data

    def entry(name, data, offset):
        sizes = (zlib.crc32(data), len(data), len(data), len(name), 0, 0, 0, 0, 0, offset)
        return struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, *sizes) + name

    inner = npy()
    outer = local(b"y.npy", inner)
    body = local(b"x.npy", outer)
    entries = entry(b"x.npy", outer, 0) + entry(b"y.npy", inner, len(body) - len(outer))
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 2, 2, len(entries), len(body), 0)
    refused(tmp_path / "a.npz", body + entries + end, "TND-314", "members overlap")


def test_npz_bombs_are_refused(tmp_path):
    data = npz()
    entry = member_offsets(data, "x.npy")[1]
    refused(
        tmp_path / "a.npz",
        put(data, entry + 24, "<I", 2**31),
        "TND-314",
        "cannot be as large as its header says",
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("x.npy", bytes(3 << 20))
    data = bytearray(file.getvalue())
    entry = member_offsets(data, "x.npy")[1]
    for offset, value in ((10, 8), (24, 2**31)):  # the method is deflate, the size 2 GiB
        put(data, entry + offset, "<H" if offset == 10 else "<I", value)
    put(data, 8, "<H", 8)
    refused(tmp_path / "a.npz", data, "TND-315", "at most 1,073,741,824 are unpacked into memory")


def test_npz_with_a_member_that_does_not_match_its_shape_is_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy() + b"more")
    refused(tmp_path / "a.npz", file.getvalue(), "TND-314", "'x' has 364 bytes of elements")


def safetensors(data=360, length=None, **tensors):
    head = json.dumps(tensors).encode()
    return struct.pack("<Q", len(head) if length is None else length) + head + bytes(data)


def tensor(begin, end, shape, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


GOOD = tensor(0, 360, [4, 6, 5, 3])


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (safetensors(x=GOOD)[:-1], "TND-314", "the tensors end at byte 360"),
        (b"\1\0\0", "TND-314", "the file ends inside its head"),
        (safetensors(length=2**63, x=GOOD), "TND-314", "the head leaves the file"),
        (safetensors(x=tensor(0, 400, [4, 100])), "TND-314", "the tensors end at byte 400"),
        (safetensors(x=tensor(0, 360, [4, 6, 5, 4])), "TND-314", "which is not uint8 (4, 6, 5, 4)"),
        (safetensors(x=tensor(0, 360, [2**62, 2**62])), "TND-314", "which is not uint8"),
        (
            safetensors(x=tensor(0, 240, [4, 60]), y=tensor(120, 360, [4, 60])),
            "TND-314",
            "tensor 'y' begins at byte 120, not at 240",
        ),
        (
            safetensors(x=tensor(0, 120, [4, 30]), y=tensor(240, 360, [4, 30])),
            "TND-314",
            "tensor 'y' begins at byte 240, not at 120",
        ),
        (struct.pack("<Q", 4) + b"{{{{" + bytes(360), "TND-314", "not valid JSON"),
        (
            struct.pack("<Q", 200_000) + b'{"x":' + b"[" * 199_995 + bytes(360),
            "TND-314",
            "a list in a wrong place",
        ),
    ],
)
def test_broken_safetensors_is_refused(data, code, reason, tmp_path):
    refused(tmp_path / "a.safetensors", data, code, reason)


def idx(magic=0x803, shape=(4, 6, 5), data=120):
    return struct.pack(f">I{len(shape)}I", magic, *shape) + bytes(data)


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (idx(data=119), "TND-314", "leave the file"),
        (idx(data=121), "TND-314", "1 bytes follow the elements"),
        (idx()[:10], "TND-314", "the file ends inside its head"),
        (idx(shape=(2**32 - 1,) * 3), "TND-314", "64 bits"),
        (idx(magic=0x703), "TND-314", "does not begin as an IDX file"),
        (struct.pack("<4I", 0x803, 4, 6, 5) + bytes(120), "TND-314", "does not begin as an IDX"),
        (struct.pack(">I", 0x803) + struct.pack("<3I", 4, 6, 5) + bytes(120), "TND-314", "64 bits"),
        (gzip.compress(idx())[:-12], "TND-312", "the compressed data end early"),
        (gzip.compress(idx())[:-8] + bytes(8), "TND-312", "incorrect data check"),
    ],
)
def test_broken_idx_is_refused(data, code, reason, tmp_path):
    ending = ".gz" if data.startswith(b"\x1f\x8b") else ""
    refused(tmp_path / f"a-images-idx3-ubyte{ending}", data, code, reason)


def test_cifar_of_a_wrong_length_is_refused(tmp_path):
    refused(
        tmp_path / "data_batch_1.bin", bytes(3073 * 2 - 1), "TND-314", "no whole number of records"
    )


@pytest.mark.parametrize("name", ["data_batch_1.bin", "test_batch.bin"])
def test_cifar_with_an_unknown_class_is_refused(name, tmp_path):
    (tmp_path / "batches.meta.txt").write_text("\n".join("abcdefghij"))
    data = bytes(3073) + bytes([77]) + bytes(3072)
    refused(
        tmp_path / name,
        data,
        "TND-314",
        "record 1 is damaged at byte 3,073\n"
        "  why: CIFAR: its label is 77, but batches.meta.txt names the classes 0 to 9\n"
        "  fix: fetch the file again",
    )


def test_labels_alone_are_not_packed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, image=np.zeros((7, 9, 8, 3), np.uint8), label=np.arange(7))
    code, message = error_of("pack", path, "--axis=-1", "-o", tmp_path / "a.tnd", exit_code=1)
    assert (code, "its samples have labels and nothing else" in message) == ("TND-302", True)
    assert "'image' is left out: 3 entries for 7 samples" in message


def test_labels_that_do_not_match_the_number_of_images_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, image=np.zeros((7, 9, 8, 3), np.uint8), label=np.arange(6))
    code, message = error_of("info", "--list", path, exit_code=1)
    assert code == "TND-318"
    assert "the image 'image' has 7 samples, the label 'label' 6: write the file" in message
    assert f'tundish.DataSource("{path}", image=..., label=...)' in message


def test_model_weights_are_refused_as_samples(tmp_path):
    path = tmp_path / "model.npz"
    weights = {f"{i}.{kind}": np.zeros(8, "f4") for i in range(2) for kind in ("weight", "bias")}
    np.savez(path, **weights)
    code, message = error_of("info", "--list", path, exit_code=1)
    assert (code, "these are the weights of a model, not samples" in message) == ("TND-315", True)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5", "a.tfrecord", "data.mdb", "a.rec"])
def test_an_empty_file_or_a_wrong_header_is_refused(name, tmp_path):
    refused(tmp_path / name, b"", "TND-310", "is empty")
    reason = "first bytes do not: its 20 bytes begin with 58 4e 55 4d 50 59 01 00; such a file"
    refused(tmp_path / name, b"XNUMPY\x01\x00" + bytes(12), "TND-304", reason)


def test_an_archive_that_is_too_short_is_refused(tmp_path):
    reason = "its name says NumPy's .npz, its first bytes do not: its 20 bytes begin with 50 4b 03"
    refused(tmp_path / "a.npz", b"PK\x03\x04" + bytes(16), "TND-304", reason)
