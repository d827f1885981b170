"""Invalid or malicious pickles in .pth files of both forms and in CIFAR's Python version."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tundish

from tests.helpers.format_batches import refusal
from tests.helpers.program import needs_program
from tests.helpers.sources import error_of, exit_code_of

pytestmark = needs_program

PTH = Path(__file__).parents[1] / "formats" / "pth"
PIXELS = bytes(range(24))
LABELS = np.array([3, 4], "<i8").tobytes()


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def archive(path, data, storages=(PIXELS, LABELS), byteorder=b"little", method=zipfile.ZIP_STORED):
    """Writes a file in torch.save's zip form with this pickle."""
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("a/data.pkl", data)
        file.writestr("a/byteorder", byteorder)
        for key, storage in enumerate(storages):
            file.writestr(f"a/data/{key}", storage)
    return path


def legacy(path, data):
    """Writes a file in torch.save's legacy form with this pickle."""
    head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}]
    parts = [pickle.dumps(part, 2) for part in head]
    path.write_bytes(b"".join(parts) + data + pickle.dumps([], 2))
    return path


def text(value):
    return b"X" + len(value).to_bytes(4, "little") + value


def whole(value):
    return b"L%dL\n" % value


def tensor(key=b"0", kind=b"Byte", offset=0, sides=(2, 3, 4), strides=(12, 4, 1), elements=24):
    """Returns the opcodes of a tensor as torch.save writes them."""
    storage = b"(" + text(b"storage") + b"ctorch\n" + kind + b"Storage\n" + text(key) + text(b"cpu")
    shape, steps = (b"(" + b"".join(map(whole, each)) + b"t" for each in (sides, strides))
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + (whole(elements) + b"tQ" + whole(offset) + shape + steps)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )


def tensor_v3(metadata=b""):
    """Returns the opcodes of a tensor of an untyped storage, which names its type, with metadata."""
    out = tensor().replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v3")
    out = out.replace(b"ctorch\nByteStorage", b"ctorch.storage\nUntypedStorage")
    return out[:-2] + b"ctorch\nuint8\n" + metadata + b"tR"


def tensor_v2(metadata=b""):
    """Returns the opcodes of a tensor of a typed storage, with metadata."""
    return tensor()[:-2] + metadata + b"tR"


def named(images, labels=None):
    labels = labels or tensor(b"1", b"Long", 0, (2,), (1,), 2)
    return b"\x80\x02}(" + text(b"images") + images + text(b"labels") + labels + b"u."


def refused(path, code, reason):
    found, message = error_of("info", "--list", path, exit_code=exit_code_of(code))
    assert (found, reason in message) == (code, True), message
    assert path.name in message


def test_the_files_of_these_tests_are_read_when_they_are_good(tmp_path):
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        data = tundish.Dataset(archive(tmp_path / "a.pth", named(tensor()), method=method))
        assert data.targets == [3, 4]
        assert data[1][0][..., 0].tobytes() == PIXELS[12:]
    swapped = np.array([3, 4], ">i8").tobytes()
    path = archive(tmp_path / "a.pth", named(tensor()), (PIXELS, swapped), b"big")
    assert tundish.Dataset(path).targets == [3, 4]


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("form", [archive, legacy])
@pytest.mark.parametrize(
    ("function", "name"), [(os.system, "posix.system"), (eval, "eval"), (getattr, "getattr")]
)
def test_nothing_is_executed(function, name, form, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = "touch executed" if function is os.system else "open('executed', 'w')"
    data = pickle.dumps({"images": Calls(function, command, "b")}, protocol)
    refused(form(tmp_path / "a.pth", data), "TND-315", f"{name}, which is not on the list")
    assert not Path("executed").exists()


def test_nothing_of_cifar_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({"data": Calls(os.system, "touch executed")}, 2))
    refused(path, "TND-315", "posix.system, which is not on the list")
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        # Composed names, and names that are not text.
        (b"ccollections\nOrderedDict.__init__\n.", "TND-315", "OrderedDict.__init__, which"),
        (b"\x80\x04" + text(b"os\nsystem") + text(b"x") + b"\x93.", "TND-315", "which is not on"),
        (b"\x80\x04K\x01" + text(b"system") + b"\x93.", "TND-314", "a name is not a text"),
        (b"\x80\x04}" + text(b"system") + b"\x93.", "TND-314", "a name is not a text"),
        (b"\x80\x04\x8c\x06system\x93.", "TND-314", "the stack is empty"),
        (b"(S'touch x'\nios\nsystem\n.", "TND-315", "os.system, which"),
        (b"(ccollections\nOrderedDict\no.", "TND-315", "objects of a class"),
        (b"\x82\x01.", "TND-315", "registered extensions"),
        (b"\x97.", "TND-315", "buffers are outside"),
        # Recursion, sharing, memory.
        (b"]q\x01h\x01a.", "TND-302", ""),
        (
            b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b".",
            "TND",
            "",
        ),
        (b"(" * 100_000 + b"t" * 100_000 + b".", "TND-3", ""),
        (b"h\x05.", "TND-314", "a value is used before it is defined"),
        (b"\x8e" + b"\xff" * 8 + b".", "TND-314", "the bytes end early"),
        (b"B" + b"\xff" * 4 + b".", "TND-314", "the bytes end early"),
        (b"\x8b\xff\xff\xff\x7f.", "TND-314", "the bytes end early"),
        (b"N" * 4_000_001 + b".", "TND-315", "over 4,000,000 values"),
        # Stacks and opcodes.
        (b".", "TND-314", "the stack is empty"),
        (b"(NNt", "TND-314", "the bytes end early"),
        (b"\x80\x09N.", "TND-315", "protocol 9"),
        (b"\xf0.", "TND-314", "there is no opcode 0xf0"),
        (b"N.", "TND-315", "it holds no tensors"),
    ],
)
@pytest.mark.parametrize("form", [archive, legacy])
def test_hostile_pickles_are_refused(form, data, code, reason, tmp_path):
    path = form(tmp_path / "a.pth", data)
    found, message = error_of("info", "--list", path, exit_code=exit_code_of(code))
    assert (found[: len(code)], reason in message) == (code, True), message


@pytest.mark.parametrize(
    ("image", "code", "reason"),
    [
        ({"offset": 1}, "TND-314", "a tensor leaves its storage"),
        ({"sides": (3, 3, 4)}, "TND-314", "a tensor leaves its storage"),
        ({"strides": (13, 4, 1)}, "TND-314", "a tensor leaves its storage"),
        ({"kind": b"Double"}, "TND-314", "a tensor leaves its storage"),
        ({"offset": 2**62}, "TND-314", "a tensor leaves its storage"),
        ({"sides": (2**62, 2**62, 2)}, "TND-314", "a tensor leaves its storage"),
        ({"strides": (2**63 - 1, 4, 1)}, "TND-314", "a tensor leaves its storage"),
        ({"offset": -1}, "TND-314", "sides, strides or offset are not numbers"),
        ({"strides": (-12, 4, 1)}, "TND-314", "sides, strides or offset are not numbers"),
        ({"sides": (2, 2**70, 4)}, "TND-314", "sides, strides or offset are not numbers"),
        ({"strides": (12, 4)}, "TND-314", "sides, strides or offset are not numbers"),
        ({"strides": (0, 4, 1)}, "TND-3", "no elements of their own"),
        ({"key": b"7"}, "TND-314", "storage '7' is missing"),
        ({"key": b"../0"}, "TND-314", "storage '../0' is missing"),
        ({"kind": b"QInt8"}, "TND-315", "torch.QInt8Storage, which is not on the list"),
    ],
)
def test_tensors_with_wrong_sizes_are_refused(image, code, reason, tmp_path):
    path = archive(tmp_path / "a.pth", b"\x80\x02" + tensor(**image) + b".")
    found, message = error_of("info", "--list", path, exit_code=exit_code_of(code))
    assert (found[: len(code)], reason in message) == (code, True), message


@pytest.mark.parametrize("kind", [tensor_v2, tensor_v3])
@pytest.mark.parametrize("bit", [b"neg", b"conj", b"unknown"])
def test_a_tensor_with_metadata_is_refused(kind, bit, tmp_path):
    """A view with the negative or conjugate bit has its metadata behind the other arguments."""
    for nothing in (b"", b"N", b"}"):
        path = archive(tmp_path / "a.pth", b"\x80\x02" + kind(nothing) + b".")
        assert tundish.Dataset(path)[1][0][..., 0].tobytes() == PIXELS[12:]
    path = archive(tmp_path / "b.pth", b"\x80\x02" + kind(b"}" + text(bit) + b"\x88s") + b".")
    refused(path, "TND-302", "save tensor.resolve_neg().resolve_conj() instead")


@pytest.mark.parametrize("key", [b"N", b"(t", text(b"0"), b"(" + text(b"storage") + b"NNNNt"])
def test_invalid_persistent_ids_are_refused(key, tmp_path):
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + key + b"QK\x00(K\x02t(K\x01t\x89NtR."
    refused(archive(tmp_path / "a.pth", call), "TND-314", "storage")


def test_a_wrong_number_of_elements_is_ignored(tmp_path):
    path = archive(tmp_path / "a.pth", named(tensor(elements=2**60)))
    assert tundish.Dataset(path).targets == [3, 4]


def test_a_wrong_checksum_of_the_pickle_is_refused(tmp_path):
    path = archive(tmp_path / "a.pth", named(tensor()))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"images", b"imagez", 1))
    refused(path, "TND-314", "member 'a/data.pkl' fails its checksum")


@pytest.mark.parametrize("name", ["named.pth", "named-legacy.pth"])
def test_truncated_files_are_refused(name, tmp_path):
    data = (PTH / name).read_bytes()
    path = tmp_path / name
    for size in range(1, len(data), len(data) // 12):
        path.write_bytes(data[:size])
        assert error_of("info", "--list", path, exit_code=3)[0] == "TND-314"


def test_a_legacy_file_with_wrong_storages_is_refused(tmp_path):
    data = bytearray((PTH / "pair-legacy.pth").read_bytes())
    count = data.rindex((5 * 6 * 7 * 3).to_bytes(8, "little"))
    data[count : count + 8] = (2**63).to_bytes(8, "little")
    (tmp_path / "a.pth").write_bytes(data)
    refused(tmp_path / "a.pth", "TND-314", "the file ends in a storage")


def test_a_bomb_stays_within_the_documented_memory(tmp_path):
    """A few KB hold the maximum number of values, each memoized; SECURITY.md promises 1 GiB."""
    bomb = b"]\x94" * 3_999_999 + b"."
    path = archive(tmp_path / "a.pth", bomb, method=zipfile.ZIP_DEFLATED)
    code, message = refusal(path)  # limited to 1 GiB
    assert code.startswith("TND-3"), message
