"""Writes the files of this folder; needs webdataset. Run in this folder: python make.py

The files in the repository were written by webdataset 1.0.2.
"""

import json

import numpy as np
import webdataset as wds

COUNT = 6


def sample(number):
    """Returns a sample that webdataset encodes: png and npy arrays, a cls number, a json dict."""
    rng = np.random.default_rng(number)
    return {
        "__key__": f"train/{number:04}",
        "png": rng.integers(0, 256, (7, 5 + number, 3), np.uint8),
        "cls": number * 3,
        "txt": f"näme {number}",
        "box.npy": rng.random(4, np.float32),
        "json": {"number": number, "nothing": None},
    }


def expected(number):
    one = sample(number)
    return {
        "key": one["__key__"] + ".png",
        "label": one["cls"],
        "pixels": one["png"].tolist(),
        "txt": one["txt"],
        "box.npy": one["box.npy"].tolist(),
        "json": one["json"],
    }


def write(name):
    with wds.TarWriter(name, mtime=0) as out:
        for number in range(COUNT):
            out.write(sample(number))


if __name__ == "__main__":
    write("shard.tar")
    write("shard.tar.gz")  # compressed because of the ending
    with open("expected.json", "w", encoding="utf-8") as file:
        json.dump([expected(number) for number in range(COUNT)], file)
