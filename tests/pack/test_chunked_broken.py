"""Broken Zarr, N5 and HDF5 files, made from the valid files of tests/formats.

Each is refused with its reason, within limits of memory.
"""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest
import tundish

from tests.helpers.array_files import images, unzip
from tests.helpers.format_batches import check_refused, refusal
from tests.helpers.program import needs_program
from tests.helpers.record_files import crc32c

pytestmark = needs_program


def change_json(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def codecs(*names):
    return {"codecs": [{"name": name} for name in names]}


def shards(**changes):
    """Returns the sharding codec of the array 'sharded' of zarr3.zip."""
    settings = {
        "chunk_shape": [2, 3, 5, 3],
        "codecs": [{"name": "bytes"}, {"name": "gzip"}],
        "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
    }
    return {"codecs": [{"name": "sharding_indexed", "configuration": settings | changes}]}


def test_a_label_that_does_not_fit_into_63_bits_is_refused(tmp_path):
    """Unwritten labels have the fill value, which is -1 if read as int64."""
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    for name, shape, dtype, fill in (("image", [2, 4, 4, 3], "|u1", 0), ("label", [2], "<u8", -1)):
        (tmp_path / name).mkdir()
        array = {"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "order": "C"}
        array |= {"compressor": None, "filters": None, "fill_value": fill % 2**64}
        (tmp_path / name / ".zarray").write_text(json.dumps(array))
    with pytest.raises(tundish.Error, match=r"TND-313[\s\S]*the label is over 2\^63 - 1"):
        tundish.Dataset(tmp_path)


ZARR_3 = [
    ({"shape": [2**62, 2**62, 5, 3]}, "TND-314", "does not fit into 64 bits"),
    ({"shape": [11, -6, 5, 3]}, "TND-314", "shape"),
    ({"shape": "many"}, "TND-314", "shape"),
    ({"zarr_format": 4}, "TND-315", "'zarr_format' is another"),
    ({"data_type": "string"}, "TND-315", "data_type 'string'"),
    ({"chunk_grid": {"name": "rectilinear"}}, "TND-315", "a chunk_grid that is not regular"),
    ({"chunk_key_encoding": {"name": "x"}}, "TND-315", "another chunk_key_encoding"),
    ({"storage_transformers": [{"name": "x"}]}, "TND-315", "storage_transformers"),
    (codecs("bytes", "sz3"), "TND-315", "codec 'sz3'"),
    (codecs("bytes", "gzip", "zstd"), "TND-315", "two compressors, one after the other"),
    (codecs(*["crc32c"] * 99), "TND-314", "'codecs' is no short list"),
    (shards(chunk_shape=[3, 3, 5, 3]), "TND-314", "a shard has no whole number of chunks"),
    (shards(chunk_shape=[0, 3, 5, 3]), "TND-314", "a shard has no whole number of chunks"),
    (shards(chunk_shape=[2, 3]), "TND-314", "shards of another number of axes"),
    (shards(**shards()), "TND-315", "sharding beside or inside of others"),
    (shards(index_codecs=[{"name": "gzip"}]), "TND-315", "index_codecs of the shards"),
]


@pytest.mark.parametrize(("change", "code", "reason"), ZARR_3)
def test_broken_zarr_3_metadata_are_refused(change, code, reason, tmp_path):
    unzip("zarr/zarr3.zip", tmp_path)
    change_json(tmp_path / "sharded" / "zarr.json", **change)
    found, message = refusal(tmp_path / "sharded")
    assert (found, reason in message) == (code, True), message


N5 = [
    ({"dimensions": [3, 5, 6]}, "TND-314", "axes"),
    ({"dimensions": [3, 5, 2**62, 2**62]}, "TND-314", "does not fit into 64 bits"),
    ({"blockSize": [3, 3, 0, 4]}, "TND-314", "a chunk has no elements"),
    ({"blockSize": [3, 3, 6, 2**40]}, "TND-315", "chunks of more than"),
    ({"dataType": "object"}, "TND-315", "object"),
    ({"compression": {"type": "jpeg"}}, "TND-315", "jpeg"),
]


@pytest.mark.parametrize(("change", "code", "reason"), N5)
def test_broken_n5_metadata_are_refused(change, code, reason, tmp_path):
    unzip("n5/z5.zip", tmp_path)
    change_json(tmp_path / "raw.n5" / "image" / "attributes.json", **change)
    found, message = refusal(tmp_path / "raw.n5")
    assert (found, reason in message) == (code, True), message


@pytest.mark.parametrize("text", [b'{"shape": [11', b"[" * 100_000, b""])
@pytest.mark.parametrize(
    ("archive", "file"),
    [
        ("zarr/zarr2.zip", "raw/.zarray"),
        ("zarr/zarr3.zip", "raw/zarr.json"),
        ("n5/z5.zip", "raw.n5/image/attributes.json"),
    ],
)
def test_metadata_that_are_not_json_are_refused(archive, file, text, tmp_path):
    unzip(archive, tmp_path)
    (tmp_path / file).write_bytes(text)
    found, message = refusal(tmp_path / file.split("/")[0])
    assert found == "TND-314", message


BOMB = bytes(16 << 20)
CHUNKS = [
    ("raw", lambda data: data[:-1], "raw: the chunk has 215 bytes, not 216"),
    ("raw", lambda data: data + b"x", "raw: the chunk has 217 bytes, not 216"),
    ("gzip", lambda data: data[:-9], "gzip: the compressed data end too early"),
    ("gzip", lambda _: gzip.compress(BOMB, 1), "gzip: the chunk has more than 216 bytes"),
    ("zlib", lambda _: zlib.compress(BOMB, 1), "gzip: the chunk has more than 216 bytes"),
    ("zlib", lambda data: data[:-1] + bytes([data[-1] ^ 1]), "gzip: incorrect data check"),
    ("zstd", lambda data: data[:20], "zstd: "),
    ("zstd", lambda _: b"text", "zstd: "),
    ("lz4", lambda data: b"\xff\xff\xff\x7f" + data[4:], "the chunk has 2147483647 bytes, not 216"),
    ("lz4", lambda data: data[:4] + b"\x0f\x00\x00" + data[7:], "the compressed data are damaged"),
    ("bz2", lambda data: data[:30], "bzip2: the compressed data end too early"),
    ("lzma", lambda data: data[:30], "xz: the compressed data end too early"),
    (
        "blosc_lz4",
        lambda data: data[:4] + b"\xff\xff\xff\x7f" + data[8:],
        "2147483647 bytes, not 216",
    ),
    (
        "blosc_lz4",
        lambda data: data[:12] + b"\xff\xff\xff\x7f" + data[16:],
        "its own size leads out",
    ),
    ("blosc_lz4", lambda data: data[:10], "blosc: the head is cut off"),
]


def check_bad_sample(array, file, data, reason):
    """Checks that the samples of one chunk or shard are bad and that other samples are readable."""
    file.write_bytes(data)
    found = tundish.Dataset(array)
    with pytest.raises(tundish.SampleError, match=r"TND-314") as caught:
        found[0]
    assert reason in str(caught.value), str(caught.value)
    assert file.name in str(caught.value)
    assert np.array_equal(found[8][0], images()[8])


@pytest.mark.parametrize(("name", "change", "reason"), CHUNKS)
def test_broken_zarr_chunks_are_bad_samples(name, change, reason, tmp_path):
    unzip("zarr/zarr2.zip", tmp_path)
    file = tmp_path / name / "0.0.0.0"
    check_bad_sample(tmp_path / name, file, change(file.read_bytes()), reason)


def with_entry(data, offset, size):
    """Returns a shard whose table lists a first chunk; the checksum of the table is correct."""
    table = struct.pack("<2Q", offset, size) + data[-52:-4]
    return data[:-68] + table + struct.pack("<I", crc32c(table))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: with_entry(data, 2**63, 10), "a chunk leads out of the shard"),
        (lambda data: with_entry(data, len(data), 1), "a chunk leads out of the shard"),
        (lambda data: with_entry(data, 0, 2**64 - 2), "a chunk leads out of the shard"),
        (lambda data: data[-20:], "the shard is shorter than its table"),
        (lambda data: data[:-1], "the checksum of the shard's table is wrong"),
    ],
)
def test_broken_zarr_3_shards_are_bad_samples(change, reason, tmp_path):
    unzip("zarr/zarr3.zip", tmp_path)
    file = tmp_path / "sharded" / "c" / "0" / "0" / "0" / "0"
    check_bad_sample(tmp_path / "sharded", file, change(file.read_bytes()), reason)


STRUCTURE = "HDF5: libhdf5 cannot read its structure"
HDF5 = [
    ("group.h5", lambda data: data[:100], "TND-314", STRUCTURE),
    ("group.h5", lambda data: data[:-1], "TND-314", STRUCTURE),
    ("group.h5", lambda data: data[:8] + b"\x09" + data[9:], "TND-314", STRUCTURE),  # its version
    ("group.h5", lambda data: data[:13] + b"\x04\x04" + data[15:], "TND-314", STRUCTURE),  # widths
    (
        "group.h5",
        lambda data: data[:64] + b"\xff" * 8 + data[72:],
        "TND-314",
        STRUCTURE,
    ),  # address of the root group
    (
        "missing.h5",
        lambda data: data.replace(b"TREE", b"TREX"),
        "TND-314",
        "cannot list its objects",
    ),
    (
        "missing.h5",
        lambda data: data.replace(b"HEAP", b"HEAX"),
        "TND-314",
        "cannot list its objects",
    ),
    (
        "missing.h5",
        lambda data: data.replace(b"SNOD", b"SNOX"),
        "TND-314",
        "cannot list its objects",
    ),
    ("scaleoffset.h5", lambda data: data, "TND-315", "HDF5: image: filter 6"),
]


@pytest.mark.parametrize(("name", "change", "code", "reason"), HDF5)
def test_broken_hdf5_is_refused(name, change, code, reason, tmp_path):
    unzip("hdf5/hdf5.zip", tmp_path)
    check_refused(tmp_path / "broken.h5", change((tmp_path / name).read_bytes()), code, reason)
