"""Small files that expand: memory stays below the limits of SECURITY.md."""

import gzip
import json
import os
import struct
import zlib

import numpy as np
import pytest
import tundish

from tests.helpers.peak_memory import peak_memory
from tests.helpers.program import needs_program

pytestmark = needs_program
MIB = 1 << 20


def write_idx_gz(folder, images):
    head = struct.pack(">4B3I", 0, 0, 8, 3, images, 1000, 1000)
    with gzip.open(folder / "a-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(images):
            file.write(bytes(1_000_000))
    return folder / "a-idx3-ubyte.gz"


def test_a_compressed_idx_file_takes_its_size_once(tmp_path):
    """A growing buffer would hold the bytes twice."""
    most = 300_000_000
    assert peak_memory("info", "--list", write_idx_gz(tmp_path, 300)) < most + 100 * MIB


def write_zarr_bomb(folder, arrays, samples):
    """Writes 256 MiB chunks, 262 KiB each on disk, of which the arrays cover one kilobyte."""
    pack = zlib.compressobj(9)
    bomb = b"".join(pack.compress(bytes(MIB)) for _ in range(256)) + pack.flush()
    for number in range(arrays):
        array = folder / f"a{number}"
        array.mkdir(parents=True)
        about = {"shape": [samples, 1024], "chunks": [1, 1 << 28], "dtype": "|u1"}
        about |= {"compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "order": "C"}
        (array / ".zarray").write_text(json.dumps({"zarr_format": 2, "filters": None, **about}))
        (array / "0.0").write_bytes(bomb)
        for sample in range(1, samples):
            os.link(array / "0.0", array / f"{sample}.0")
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    return folder


@pytest.mark.parametrize("arrays", [1, 3])
def test_chunks_of_all_arrays_and_threads_share_one_limit(tmp_path, arrays):
    bomb = write_zarr_bomb(tmp_path / "d.zarr", arrays, samples=18 // arrays)
    words = ["pack", bomb, "-o", tmp_path / "a.tnd", "-j", "18"]
    assert peak_memory(*words) < 1280 * MIB + 100 * MIB


def test_the_metadata_of_an_array_take_4_times_their_bytes_at_most(tmp_path):
    """Empty objects take more memory per byte than other JSON values: 37 times, if all are kept."""
    array = tmp_path / "d.zarr" / "image"
    array.mkdir(parents=True)
    (tmp_path / "d.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    objects = "{}," * ((16 * MIB - 1000) // 3) + "{}"
    about = {"zarr_format": 2, "shape": [4, 4], "chunks": [1, 4], "dtype": "|u1", "order": "C"}
    about |= {"compressor": None, "filters": None, "fill_value": 0}
    text = json.dumps(about)[:-1] + f', "more": [{objects}]}}'
    (array / ".zarray").write_text(text)
    peak = peak_memory("info", tmp_path / "d.zarr", exit_codes=(0, 1))
    assert peak < 4 * len(text) + 16 * MIB + 32 * MIB  # and the program itself
    (array / ".zarray").write_text(" " * 16 * MIB + text)
    assert peak_memory("info", tmp_path / "d.zarr", exit_codes=(1, 3)) < 64 * MIB


@pytest.mark.parametrize("head", ["of something else", "that fits"])
def test_a_huge_index_beside_a_small_file_is_not_read(tmp_path, head):
    source = tmp_path / "d.tfrecord"
    np.save(tmp_path / "d.npy", np.zeros((4, 8, 8, 3), np.uint8))
    tundish.convert(tmp_path / "d.npy", source, to="tfrecord", progress=False)
    assert peak_memory("info", "--list", source) < 200 * MIB  # also writes the index
    index = tmp_path / ".d.tfrecord.tndx"
    around = 64 + len("tfrecord") + 4
    with open(index, "r+b") as file:
        file.truncate(1 << 30)
        if head == "that fits":
            file.seek(32)
            file.write(struct.pack("<Q", (1 << 30) - around))
    assert peak_memory("info", "--list", source) < 200 * MIB
