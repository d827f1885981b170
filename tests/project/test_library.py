"""python/tundish/_c/ and include/tundish.h agree."""

import ctypes
import re

import pytest
import tundish
from tundish._c import functions, handles, structs
from tundish._c.library import lib

from tests.helpers.loaders import opened
from tests.helpers.program import ROOT

HEADER = (ROOT / "include" / "tundish.h").read_text()
PLAIN = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)

NUMBERS = {
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
}


def expected_type(c_type: str):
    """Returns the ctypes type that a C type requires."""
    c_type = c_type.replace("const *", "*").replace("* const*", "**").replace("const ", "").strip()
    if c_type == "void":
        return None
    if c_type == "char*":
        return ctypes.c_char_p
    if c_type in NUMBERS:
        return NUMBERS[c_type]
    known = {s.__doc__: s for s in vars(structs).values() if isinstance(s, type) and s.__doc__}
    if c_type.endswith("**"):
        return ctypes.POINTER(ctypes.c_void_p)
    name = c_type.removesuffix("*")
    if name in known:
        return ctypes.POINTER(known[name])
    if name in NUMBERS:
        return ctypes.POINTER(NUMBERS[name])
    return ctypes.c_void_p


def test_every_function_is_declared_with_the_same_types():
    declared = {}
    for result, name, arguments in re.findall(
        r"TUNDISH_API\s+([\w\s]+?\*?)\s*(tundish_\w+)\(([^)]*)\);", PLAIN
    ):
        types = [re.sub(r"\w+$", "", a.strip()).strip() for a in arguments.split(",")]
        types = [] if arguments.strip() == "void" else types
        declared[name] = (expected_type(result.strip()), [expected_type(t) for t in types])
    owners = {
        "tundish_source_open": "SourceHandle",
        "tundish_opening_new": "OpeningHandle",
        "tundish_source_join": "SourceHandle",
        "tundish_source_open_copy": "SourceHandle",
        "tundish_source_cache": "SourceHandle",
        "tundish_loader_new": "LoaderHandle",
        "tundish_resident_new": "ResidentHandle",
        "tundish_device_new": "DeviceHandle",
        "tundish_optimizer_new": "OptimizerHandle",
        "tundish_batch_tensor": "TensorHandle",
        "tundish_source_image": "TensorHandle",
    }
    for name, owner in owners.items():
        assert declared[name][0] is ctypes.c_void_p
        declared[name] = (getattr(handles, owner), declared[name][1])
    assert declared == functions.FUNCTIONS


def test_every_struct_has_the_same_members():
    checked = 0
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", PLAIN, flags=re.S):
        (struct,) = [s for s in vars(structs).values() if getattr(s, "__doc__", "") == name]
        members = []
        for line in body.split(";"):
            found = re.match(r"\s*((?:const )?\w+\*?)\s+(.*)", line.strip(), flags=re.S)
            if not found:
                continue
            for member in found[2].split(","):
                plain, length = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", member.strip()).groups()
                kind = expected_type(found[1])
                members.append((plain, kind * int(length) if length else kind))
        assert members == struct._fields_
        checked += 1
    assert checked == 8


def test_the_constants_agree():
    assert int(re.search(r"#define TUNDISH_ABI (\d+)", HEADER)[1]) == functions.ABI
    for name in ("OK", "AGAIN", "END", "ERROR"):
        value = int(re.search(rf"TUNDISH_{name} = (\d+)", HEADER)[1])
        assert getattr(functions, name) == value
    assert ", ".join(f"{i} {name}" for i, name in enumerate(structs.DTYPES)) in " ".join(
        HEADER.split()
    )


def test_a_tensor_that_a_batch_does_not_have_is_an_error(photos, monkeypatch):
    real = lib.tundish_batch_tensor_info
    with opened(photos.pack, 4, backend="numpy") as loader:
        batches = iter(loader)
        for number in (-1, 4):
            with monkeypatch.context() as once:
                once.setattr(
                    lib,
                    "tundish_batch_tensor_info",
                    lambda batch, _, out, number=number: real(batch, number, out),
                )
                with pytest.raises(tundish.Error):
                    next(batches)
        assert len(next(batches)) == 2
