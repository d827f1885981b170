"""The .tnd format: docs/read_tnd.py, an independent reader, reads the output of the C++ writer."""

import io
import os
import struct
import subprocess
import sys

import pytest

from tests.helpers.program import ROOT, needs_program, tundish
from tests.helpers.small_set import image, make_folder, make_tar_gz, read_tnd

GOLDEN = ROOT / "tests" / "golden" / "version-1.tnd"
READER = ROOT / "docs" / "read_tnd.py"


def test_the_reader_is_short_enough_for_a_student():
    assert len(READER.read_text().splitlines()) <= 150


def test_the_golden_file_stays_readable():
    with GOLDEN.open("rb") as file:
        pack = read_tnd().Pack(file)
        assert pack.id.hex() == "fcf94010b77b72a4617db6c3082f6f8f"
        assert pack.classes == [b"c\\at", b"d\xffg"]
        assert [name.decode() for name, _ in pack.fields] == [
            "caption",
            "image",
            "raw",
            "label",
            "score",
            "boxes",
        ]
        assert pack.keys == [b"dir/\n0", b"dir/\n1", b"dir/\n2"]
        assert pack.labels == (0, 1, 2)
        assert pack.codecs == (3, 0, 3)
        assert (pack.widths, pack.heights) == ((2, 0, 2), (3, 0, 3))
        assert pack[1][b"caption"] == b"a cat"
        assert pack[1][b"image"] == b"GIF89a."
        assert len(pack[2][b"score"]) == 8


@needs_program
def test_the_program_reads_the_golden_file():
    assert tundish("verify", GOLDEN).returncode == 0
    assert tundish("unpack", GOLDEN, "--record", "1").stdout == b"GIF89a."


@needs_program
@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_both_readers_agree_about_what_the_writer_wrote(kind, tmp_path):
    count = 1030  # more than one block of names
    if kind == "folder":
        source = make_folder(tmp_path / "source", count)
        names = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.png"))
        wanted = [(name.encode(), (source / name).read_bytes()) for name in names]
    else:
        source = make_tar_gz(tmp_path / "source.tar.gz", count)
        wanted = [(f"{number:03}".encode(), image(number)) for number in range(count)]
    target = tmp_path / "t.tnd"
    assert tundish("pack", source, "-o", target).returncode == 0
    with target.open("rb") as file:
        pack = read_tnd().Pack(file)
        assert pack.count == count
        for number, (key, data) in enumerate(wanted):
            assert pack.keys[number].startswith(key)
            assert pack[number][b"image"] == data
        assert set(pack.widths) == set(pack.heights) == {8}
        assert set(pack.labels) == {0, 1}
        if kind == "folder":
            assert pack.classes == [b"cat", b"dog"]
    listed = subprocess.run([sys.executable, READER, target], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.splitlines()[-1].startswith(f"{count} records, all valid, pack id ")
    one = subprocess.run([sys.executable, READER, target, "7"], capture_output=True)
    assert one.stdout == wanted[7][1]


@needs_program
def test_class_names_of_any_bytes_survive(tmp_path):
    names = [b"a\\b", b"caf\xe9", "caf\u00e9".encode(), b"new\nline", b'"quoted"']
    for name in names:
        folder = bytes(tmp_path) + b"/source/" + name
        os.makedirs(folder)
        with open(folder + b"/x.png", "wb") as file:
            file.write(image(1))
    target = tmp_path / "t.tnd"
    assert tundish("pack", tmp_path / "source", "-o", target).returncode == 0
    with target.open("rb") as file:
        pack = read_tnd().Pack(file)
        assert sorted(pack.classes) == sorted(names)
        assert sorted(pack.keys) == sorted(name + b"/x.png" for name in names)


HUGE = 2**62


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (12, "<I", 0, "alignment"),
        (12, "<I", 12, "alignment"),
        (-136 + 16, "<Q", HUGE, "number of records"),
        (-136 + 16, "<Q", 0, "number of records"),
        (-136 + 32, "<Q", HUGE, "no .* bytes"),  # offset of the metadata
        (-136 + 72, "<Q", HUGE, "no .* bytes"),  # offset of the index
    ],
)
def test_the_reader_finds_wrong_values_with_right_checksums(
    offset, layout, value, message, tmp_path
):
    module, data = read_tnd(), bytearray(GOLDEN.read_bytes())
    at = offset % len(data)
    struct.pack_into(layout, data, at, value)
    tail = len(data) - 136
    struct.pack_into("<I", data, 60, module.piece_crc(module.NO_RECORD, 0, data[:60]))
    crc = module.piece_crc(module.NO_RECORD, 5, data[tail : tail + 124])
    struct.pack_into("<I", data, tail + 124, crc)
    with pytest.raises(ValueError, match=message):
        module.Pack(io.BytesIO(data))


@needs_program
@pytest.mark.parametrize("offset", [3, 20, 100, -20, -130, -200])
def test_both_readers_refuse_a_changed_byte(offset, tmp_path):
    target = tmp_path / "t.tnd"
    assert tundish("pack", make_folder(tmp_path / "source", 5), "-o", target).returncode == 0
    data = bytearray(target.read_bytes())
    data[offset] ^= 1
    target.write_bytes(data)
    assert tundish("verify", target).returncode in (1, 3)
    listed = subprocess.run([sys.executable, READER, target], capture_output=True, text=True)
    assert listed.returncode == 1
    assert "ValueError" in listed.stderr
