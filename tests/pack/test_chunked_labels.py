"""Zarr and N5: labels in any layout, missing chunks, metadata of both versions or of any size."""

import json
import struct
import zlib

import numpy as np
import pytest
import tundish

from tests.helpers.peak_memory import peak_memory
from tests.helpers.program import error_of, needs_program

pytestmark = needs_program


def write_zarr(group, name, shape, chunks, chunk_data, dtype="|u1", order="C"):
    """Writes an array of version 2. chunk_data: bytes by chunk coordinates."""
    folder = group / name
    folder.mkdir(parents=True)
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    about = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": order}
    about |= {"compressor": {"id": "zlib", "level": 1}, "filters": None, "fill_value": 7}
    (folder / ".zarray").write_text(json.dumps(about))
    for key, data in chunk_data.items():
        (folder / key).write_bytes(zlib.compress(data))


def labels_of(path):
    return tundish.Dataset(path).targets


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [[10], [10, 1], [1, 10, 1]])
def test_labels_are_read_from_whole_chunks_in_any_layout(order, shape, tmp_path):
    axis = shape.index(10)
    chunk = [4 if side == 10 else 3 for side in shape]  # sides of 1 have chunks of 3
    values = {}
    for number in (0, 2):  # chunk 1 is missing
        data = np.zeros(chunk, "<i2") - 9
        place_of_labels = tuple(slice(None) if a == axis else 0 for a in range(len(shape)))
        data[place_of_labels] = np.arange(4) + 100 * number
        key = ".".join(str(number) if a == axis else "0" for a in range(len(shape)))
        values[key] = data.tobytes(order)
    write_zarr(tmp_path / "d.zarr", "label", shape, chunk, values, "<i2", order)
    sides = [10 if a == axis else 2 for a in range(max(3, len(shape)))]
    write_zarr(tmp_path / "d.zarr", "image", sides, sides, {}, "|u1")
    source = tundish.DataSource(tmp_path / "d.zarr", axis=axis)
    assert labels_of(source) == [0, 1, 2, 3, 7, 7, 7, 7, 200, 201]


@pytest.mark.parametrize("kind", ["zarr", "n5"])
def test_a_million_missing_labels_are_refused_within_seconds(kind, tmp_path):
    count = 1_000_000
    path = tmp_path / f"d.{kind}"
    for name, shape in {"image": [count, 1, 1], "label": [count]}.items():
        if kind == "zarr":
            write_zarr(path, name, shape, [1] * len(shape), {})
            continue
        (path / name).mkdir(parents=True)
        about = {"dimensions": shape[::-1], "blockSize": [1] * len(shape), "dataType": "uint8"}
        about["compression"] = {"type": "raw"}
        (path / name / "attributes.json").write_text(json.dumps(about))
        (path / "attributes.json").write_text('{"n5": "2.0.0"}')
    assert peak_memory("info", path, exit_codes=[1], cpu_limit_s=30) < 128 << 20
    reason = error_of("info", path, exit_code=1)["reason"]
    assert "array label: over 100,000 of its first 100,001 chunks are missing" in reason


def test_labels_of_one_large_chunk_are_read_in_one_pass(tmp_path):
    count = 3_000_000
    data = {"0": (np.arange(count) % 200).astype(np.uint8).tobytes()}
    write_zarr(tmp_path / "d.zarr", "label", [count], [count], data)
    shape = [count, 1, 1]
    image = np.random.default_rng(0).integers(0, 256, count, np.uint8).tobytes()
    write_zarr(tmp_path / "d.zarr", "image", shape, shape, {"0.0.0": image})
    labels = np.array(labels_of(tmp_path / "d.zarr"))
    assert np.array_equal(labels, np.arange(count) % 200)


def test_missing_chunks_of_sparse_labels_are_read(tmp_path):
    stored = {str(100 * n): bytes([n % 200]) for n in range(30)}
    write_zarr(tmp_path / "d.zarr", "label", [3000], [1], stored)
    write_zarr(tmp_path / "d.zarr", "image", [3000, 1, 1], [3000, 1, 1], {})
    expected = [7] * 3000
    expected[::100] = range(30)
    assert labels_of(tmp_path / "d.zarr") == expected


def test_truncated_blocks_of_labels_are_read(tmp_path):
    path = tmp_path / "d.n5"
    for name, shape in {"image": [2, 2, 5], "label": [5]}.items():
        (path / name).mkdir(parents=True)
        about = {"dimensions": shape, "blockSize": [*shape[:-1], 3], "dataType": "uint8"}
        about["compression"] = {"type": "raw"}
        (path / name / "attributes.json").write_text(json.dumps(about))
    (path / "attributes.json").write_text('{"n5": "2.0.0"}')
    (path / "label" / "0").write_bytes(struct.pack(">HHI", 0, 1, 3) + bytes([1, 2, 3]))
    (path / "label" / "1").write_bytes(struct.pack(">HHI", 0, 1, 1) + bytes([4]))
    assert labels_of(path) == [1, 2, 3, 4, 0]


def test_metadata_of_version_3_precede_those_of_version_2(tmp_path):
    """zarr's migration writes zarr.json beside .zarray; later writes change only zarr.json."""
    group = tmp_path / "d.zarr"
    write_zarr(group, "label", [2], [1], {str(n): bytes([n]) for n in range(4)})
    write_zarr(group, "image", [2, 2, 2], [4, 2, 2], {})
    for name, shape, chunk in (("label", [4], [1]), ("image", [4, 2, 2], [4, 2, 2])):
        grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
        about = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8"}
        about |= {"chunk_grid": grid, "fill_value": 0, "attributes": {}}
        keys = {"name": "v2", "configuration": {"separator": "."}}
        codecs = [{"name": "bytes"}]
        about |= {"chunk_key_encoding": keys, "codecs": codecs}
        (group / name / "zarr.json").write_text(json.dumps(about))
    for number in range(4):
        (group / "label" / str(number)).write_bytes(bytes([number]))
    assert labels_of(group) == [0, 1, 2, 3]


@pytest.mark.parametrize("member", ["attributes", "consolidated_metadata", "codecs"])
def test_large_metadata_take_little_memory(member, tmp_path):
    """A list of empty objects took 37 times its bytes."""
    values = "{}," * (5 * (1 << 20)) + "{}"
    text = f'{{"zarr_format": 3, "node_type": "group", "{member}": [{values}]}}'
    (tmp_path / "d.zarr").mkdir()
    (tmp_path / "d.zarr" / "zarr.json").write_text(text)
    code = 3 if member == "codecs" else 1
    peak = peak_memory("info", tmp_path / "d.zarr", exit_codes=[code])
    assert peak < 4 * len(text) + (32 << 20)
    error = error_of("info", tmp_path / "d.zarr", exit_code=code)
    assert error["code"] == ("TND-314" if member == "codecs" else "TND-302")
