"""Writes the images or arrays of a job in one format, with the format's own library.

python -m bench.sources.write_files FORMAT JOB.json
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from ..common.process import Job

RAW_COUNT, RAW_LENGTH = 16384, 3072  # float32 values: 200 MB in total
RAW_IMAGE = (3, 64, 64)  # uint8 values: the same number of bytes
CHUNK = 16  # samples per chunk
DATUM_HEAD = 9  # bytes before the pixels of a Datum of this shape


def arrays() -> np.ndarray:
    """Returns arrays of multiples of 1/255, which can be compressed."""
    levels = np.random.default_rng(1).integers(0, 256, (RAW_COUNT, RAW_LENGTH))
    return (levels / 255).astype(np.float32)


def pixels() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (RAW_COUNT, *RAW_IMAGE), np.uint8)


def jpegs(job: Job) -> list[bytes]:
    return [Path(file).read_bytes() for file in job.files]


def numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64)


def write_hdf5(job: Job, jpeg: bool) -> None:
    import h5py

    with h5py.File(job.own, "w") as file:
        if jpeg:
            images = file.create_dataset("image", (job.count,), h5py.vlen_dtype(np.uint8))
            for number, data in enumerate(jpegs(job)):
                images[number] = np.frombuffer(data, np.uint8)
        else:
            chunk = (CHUNK, RAW_LENGTH)
            file.create_dataset(
                "features", data=arrays(), chunks=chunk, compression="gzip", shuffle=True
            )
        file["label"] = numbers(job.count)


def write_lmdb(job: Job, jpeg: bool) -> None:
    import lmdb

    env = lmdb.open(job.own, subdir=False, map_size=2**32, lock=False)
    with env.begin(write=True) as transaction:
        if jpeg:
            for number, data in enumerate(jpegs(job)):
                transaction.put(f"{number:08d}".encode(), data)
        else:
            size = int(np.prod(RAW_IMAGE))
            head = bytes([0x08, 3, 0x10, 64, 0x18, 64, 0x22, size & 127 | 128, size >> 7])
            for number, image in enumerate(pixels()):
                label = b"\x28" + varint(number)
                transaction.put(f"{number:08d}".encode(), head + image.tobytes() + label)
    env.close()


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def write_zarr(job: Job, jpeg: bool) -> None:
    import zarr

    assert not jpeg
    group = zarr.open_group(job.own, mode="w")
    features = arrays()
    array = group.create_array(
        "features", shape=features.shape, dtype="f4", chunks=(CHUNK, RAW_LENGTH)
    )
    array[:] = features
    label = group.create_array("label", shape=(job.count,), dtype="i8", chunks=(job.count,))
    label[:] = numbers(job.count)


def write_npy(job: Job, jpeg: bool) -> None:
    assert not jpeg
    np.save(job.own, arrays())


def write_tfrecord(job: Job, jpeg: bool) -> None:
    from tfrecord.writer import TFRecordWriter

    writer = TFRecordWriter(job.own)
    for number, value in enumerate(jpegs(job) if jpeg else arrays()):
        image = ("image/encoded", (value, "byte")) if jpeg else ("features", (value, "float"))
        label = "image/class/label" if jpeg else "label"
        writer.write(dict([image, (label, (number, "int"))]))
    writer.close()


def expected(job: Job, numbers: np.ndarray) -> np.ndarray:
    """Returns the arrays of these samples."""
    return (pixels() if job.own.endswith(".lmdb") else arrays())[numbers]


def main() -> None:
    job = Job(**json.loads(Path(sys.argv[2]).read_text()))
    own = Path(job.own)
    shutil.rmtree(own, ignore_errors=True) if own.is_dir() else own.unlink(missing_ok=True)
    globals()[f"write_{sys.argv[1]}"](job, own.stem == "jpeg")


if __name__ == "__main__":
    main()
