"""Caches, indexes and interrupted runs are invalidated when their data change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish.program import find_program

SAMPLES = 4


def write_chunk(path: Path, level: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes([level] * 16))


def write_zarr(folder: Path, level: int) -> list[Path]:
    image = folder / "image"
    image.mkdir(parents=True, exist_ok=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    about = {
        "zarr_format": 2,
        "shape": [SAMPLES, 4, 4],
        "chunks": [1, 4, 4],
        "dtype": "|u1",
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "dimension_separator": "/",
    }
    (image / ".zarray").write_text(json.dumps(about))
    chunks = [image / str(n) / "0" / "0" for n in range(SAMPLES)]
    for chunk in chunks:
        write_chunk(chunk, level)
    return chunks


def levels(source: Path, cache: Path) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the samples have no labels
        with tundish.Loader(str(source), SAMPLES, shuffle=False, cache_dir=str(cache)) as loader:
            images = np.asarray(next(iter(loader))[0])
    return [int(level) for level in images.reshape(SAMPLES, -1).max(1)]


@pytest.mark.parametrize("shift_s", [-1000, 0, 1000])
def test_rewritten_chunks_are_not_served_from_the_cache(tmp_path: Path, shift_s: int) -> None:
    """The modification time may be older, equal or newer; the size is the same."""
    source, cache = tmp_path / "d.zarr", tmp_path / "cache"
    chunks = write_zarr(source, 10)
    assert levels(source, cache) == [10] * SAMPLES
    for chunk in chunks:
        before = chunk.stat().st_mtime_ns
        write_chunk(chunk, 200)
        after = before + shift_s * 10**9
        os.utime(chunk, ns=(after, after))
    assert levels(source, cache) == [200] * SAMPLES


def test_a_file_with_its_old_time_stamp_is_read_again(tmp_path: Path) -> None:
    source, cache = tmp_path / "d.npy", tmp_path / "cache"
    np.save(source, np.full((SAMPLES, 4, 4, 3), 10, np.uint8))
    assert levels(source, cache) == [10] * SAMPLES
    before = source.stat().st_mtime_ns
    np.save(source, np.full((SAMPLES, 4, 4, 3), 200, np.uint8))
    os.utime(source, ns=(before, before))
    assert levels(source, cache) == [200] * SAMPLES


@pytest.mark.parametrize("separator", ["/", "."])
def test_an_array_that_a_group_links_to_is_read_again(tmp_path: Path, separator: str) -> None:
    """Writing a file does not change the time of the linked folder."""
    group, array, cache = tmp_path / "d.zarr", tmp_path / "store" / "image", tmp_path / "cache"
    chunks = write_zarr(tmp_path / "store", 10)
    if separator == ".":
        about = json.loads((array / ".zarray").read_text()) | {"dimension_separator": "."}
        (array / ".zarray").write_text(json.dumps(about))
        chunks = [array / f"{n}.0.0" for n in range(SAMPLES)]
        for chunk in chunks:
            write_chunk(chunk, 10)
    group.mkdir()
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    (group / "image").symlink_to(array)
    assert levels(group, cache) == [10] * SAMPLES
    for chunk in chunks:
        write_chunk(chunk, 200)
    assert levels(group, cache) == [200] * SAMPLES


def test_a_group_that_links_to_itself_has_a_cache(tmp_path: Path) -> None:
    group, cache = tmp_path / "d.zarr", tmp_path / "cache"
    write_zarr(group, 10)
    (group / "image" / "all").symlink_to(group)
    for _ in range(2):
        assert levels(group, cache) == [10] * SAMPLES


def test_targets_in_the_file_beside_the_images_are_read_again(tmp_path: Path) -> None:
    """Targets that are not integers form a field, which the cache keeps."""
    images, targets, cache = tmp_path / "x.npy", tmp_path / "y.npy", tmp_path / "cache"
    np.save(images, np.zeros((SAMPLES, 4, 4, 3), np.uint8))
    found = []
    for shift in (0, 100):
        np.save(targets, np.arange(SAMPLES) + shift + 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the samples have no labels
            with tundish.Loader(
                images, SAMPLES, shuffle=False, cache_dir=cache, as_dict=True
            ) as loader:
                found.append(np.asarray(next(iter(loader))["label"]).tolist())
    assert found == [[0.5, 1.5, 2.5, 3.5], [100.5, 101.5, 102.5, 103.5]]


def test_a_file_that_was_missing_when_the_list_was_opened_is_not_cached(tmp_path: Path) -> None:
    """No time stamp identifies the file: the list was described before the file existed."""
    listed, late, cache = tmp_path / "list.csv", tmp_path / "1.png", tmp_path / "cache"
    Image.new("L", (4, 4), 7).save(tmp_path / "0.png")
    listed.write_text("path,label\n0.png,0\n1.png,1\n")
    found = []
    for level in (10, 200):
        late.unlink(missing_ok=True)
        with tundish.Loader(str(listed), 2, shuffle=False, cache_dir=str(cache)) as loader:
            Image.new("L", (4, 4), level).save(late)
            images = np.asarray(next(iter(loader))[0])
        found.append([int(image.max()) for image in images])
    assert found == [[7, 10], [7, 200]]


def test_an_interrupted_split_starts_over_after_the_source_was_rewritten(tmp_path: Path) -> None:
    """The new split must not mix old and new data, so the command refuses and states the reason."""
    source, prefix = tmp_path / "x.npy", tmp_path / "d"
    np.save(source, np.full((3000, 32, 32, 3), 10, np.uint8))
    command = [
        find_program(),
        "split",
        str(source),
        "train=0.5,val=0.5",
        "-o",
        str(prefix),
        "-j",
        "1",
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    train = tmp_path / "d-train.tnd"
    while process.poll() is None and not train.exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    interrupted = process.poll() is None and not (tmp_path / "d-val.tnd").exists()
    process.kill()
    process.wait()
    assert interrupted, "the split was finished before it could be interrupted"
    before = source.stat().st_mtime_ns
    np.save(source, np.full((3000, 32, 32, 3), 200, np.uint8))
    os.utime(source, ns=(before, before))
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode != 0
    assert "the content of the source's files has changed" in again.stderr
    assert not (tmp_path / "d-val.tnd").exists()


def is_written(path: Path, offset: int) -> bool:
    """Returns whether data are written at the offset; reserved space is zero."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(offset)
        return any(file.read(4096))


@pytest.mark.parametrize("verb", ["pack", "merge"])
def test_an_interrupted_pack_starts_over_after_the_source_was_rewritten(
    tmp_path: Path, verb: str
) -> None:
    """The new source has the old size and modification time."""
    source, target = tmp_path / "x.npy", tmp_path / "d.tnd"
    np.save(source, np.full((6000, 32, 32, 3), 10, np.uint8))
    command = [find_program(), verb, str(source), "-o", str(target), "-j", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    partial = tmp_path / ".d.tnd.partial"
    while process.poll() is None and not is_written(partial, 2 << 20):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130, "the pack was finished before it could be interrupted"
    before = source.stat().st_mtime_ns
    np.save(source, np.full((6000, 32, 32, 3), 200, np.uint8))
    os.utime(source, ns=(before, before))
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert "starts over: the content of the source's files has changed" in again.stderr
    packed = [np.asarray(tundish.Dataset(target)[number][0]) for number in (0, 2999, 5999)]
    assert [np.unique(image).tolist() for image in packed] == [[200]] * 3
