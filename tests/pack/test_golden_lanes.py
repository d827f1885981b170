"""Golden lanes records that every later version must read: each sampling, unit and table kind.

tests/golden/make_lanes.py created them: lanes/*.jpg are the files, lanes.tnd is their pack with its
tables, and lanes.json has the digests of their coefficients.
"""

import hashlib
import json
import struct

import numpy as np
import pytest
from PIL import Image

from tests.helpers.program import ROOT, needs_program, tundish
from tests.helpers.readers import reader
from tests.helpers.small_set import read_tnd

GOLDEN = ROOT / "tests" / "golden"
PACK, FILES = GOLDEN / "lanes.tnd", sorted((GOLDEN / "lanes").iterdir())
ABOUT = json.loads((GOLDEN / "lanes.json").read_text())


@pytest.fixture(scope="module")
def read_lanes():
    """Loads docs/read_lanes.py as a module."""
    return reader("read_lanes")


@pytest.fixture(scope="module")
def records():
    """Returns the bytes of every record by file name, and the tables."""
    with PACK.open("rb") as file:
        pack = read_tnd().Pack(file)
        assert pack.id.hex() == ABOUT["id"]
        assert set(pack.codecs) == {4}
        return {key.decode(): pack[n][b"image"] for n, key in enumerate(pack.keys)}, pack.tables


@pytest.fixture(scope="module")
def coefficients(records, read_lanes):
    tables = read_lanes.Tables(records[1])
    return {name: read_lanes.read_record(record, tables) for name, record in records[0].items()}


def test_the_coefficients_of_the_reference_reader_never_change(coefficients):
    digests = {
        name: hashlib.sha256(b"".join(c.astype("<i2").tobytes() for c in image)).hexdigest()
        for name, image in coefficients.items()
    }
    assert digests == ABOUT["coefficients"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_the_coefficients_equal_those_of_the_file_by_the_definition_of_the_dct(coefficients, file):
    with Image.open(file) as image:
        if file.stem != "rgb":
            image.draft("L" if image.mode == "L" else "YCbCr", image.size)
        expected = np.atleast_3d(np.asarray(image))
        steps = [np.array(image.quantization[layer[3]]) for layer in image.layer]
    y, frequency = np.mgrid[0:8, 0:8]
    cosine = np.cos((2 * y + 1) * frequency * np.pi / 16)
    basis = np.where(frequency == 0, np.sqrt(1 / 8), 1 / 2) * cosine
    for number, component in enumerate(coefficients[file.name]):
        rows, columns, _ = component.shape
        blocks = (component * steps[number]).reshape(rows, columns, 8, 8)
        samples = np.einsum("rcvu,yv,xu->rycx", blocks, basis, basis) + 128
        samples = samples.reshape(8 * rows, 8 * columns).clip(0, 255)
        plane = expected[:, :, number]
        if number == 0 or file.stem in ("444", "rgb", "steep"):  # the other planes are upsampled
            samples = samples[: plane.shape[0], : plane.shape[1]]
            assert np.abs(samples - plane).max() <= 1  # libjpeg uses integer arithmetic


def test_the_golden_files_contain_every_kind_of_record_table_and_unit(
    records, read_lanes, monkeypatch
):
    seen = set()
    read_unit, bits, value = read_lanes.read_unit, read_lanes.Lanes.bits, read_lanes.Lanes.value

    def look_at_unit(unit, *more):
        seen.add("narrow unit" if struct.unpack_from("<H", unit) == (32768,) else "unit")
        return read_unit(unit, *more)

    def look_at_bits(lanes, lane, count):
        seen.add(f"escape of {count} bits")
        return bits(lanes, lane, count)

    def look_at_value(lanes, lane, rice):
        out = value(lanes, lane, rice)
        last = read_lanes.ESCAPE_FROM[rice] - 1
        if out >= last:
            seen.add(f"rice {rice}, {'last value' if out == last else 'escape'}")
        return out

    monkeypatch.setattr(read_lanes, "read_unit", look_at_unit)
    monkeypatch.setattr(read_lanes.Lanes, "value", look_at_value)
    monkeypatch.setattr(read_lanes.Lanes, "bits", look_at_bits)
    tables = read_lanes.Tables(records[1])
    for record in records[0].values():
        seen |= {f"kind {record[2] & 15}", f"table set {record[2] >> 4}"}
        at = 7
        for _ in read_lanes.read_record(record, tables):
            step = record[at]
            seen.add("standard table" if 1 <= step <= 200 else f"table {step}")
            at += {0: 65, 201: 129}.get(step, 1)
    wanted = {
        *(f"kind {k}" for k in (0, 1, 2, 3, 4, 5, 9)),  # six samplings and RGB
        *(f"table set {s}" for s in range(4)),
        *("standard table", "table 0", "table 201", "table 202"),
        *("unit", "narrow unit", "escape of 8 bits", "escape of 11 bits"),
        *(f"rice {r}, {which}" for r in range(5) for which in ("last value", "escape")),
    }
    assert wanted - seen == set()


@needs_program
def test_the_program_restores_every_file_byte_for_byte(tmp_path):
    assert tundish("verify", PACK, "--pixels").returncode == 0
    assert tundish("unpack", PACK, "-o", tmp_path / "back").returncode == 0
    for number, file in enumerate(FILES):
        assert (tmp_path / "back" / file.name).read_bytes() == file.read_bytes(), file.name
        assert tundish("unpack", PACK, "--record", str(number)).stdout == file.read_bytes(), (
            file.name
        )


DIGESTS = """
import hashlib, sys, tundish
for image, _ in tundish.Dataset(sys.argv[1]):
    print(image.shape, hashlib.sha256(image.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("level", ["scalar", "sse", "avx2", "avx512"])
def test_the_pixels_are_pillows_on_every_instruction_set(level, run_python):
    lines = run_python(DIGESTS, PACK, env={"TUNDISH_CPU": level}).stdout.splitlines()
    assert len(lines) == len(FILES)
    for line, file in zip(lines, FILES):
        with Image.open(file) as image:
            pixels = np.asarray(image.convert("RGB"))
        assert line == f"{pixels.shape} {hashlib.sha256(pixels.tobytes()).hexdigest()}", file.name
