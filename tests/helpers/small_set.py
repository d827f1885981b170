"""A tiny dataset, and an independent reader of packs, for tests of crashes and faults."""

import gzip
import io
import os
import random
import tarfile

from PIL import Image

from tests.helpers.program import ROOT
from tests.helpers.readers import reader

SHIM = ROOT / "build" / "release" / "libfail_nth.so"  # tests/faults/fail_nth.c


def read_tnd():
    """Loads docs/read_tnd.py as a module."""
    return reader("read_tnd")


def image(number, size=8):
    file = io.BytesIO()
    pixels = random.Random(number).randbytes(size * size * 3)  # cannot be compressed
    Image.frombytes("RGB", (size, size), pixels).save(file, "PNG")
    return file.getvalue()


def make_folder(folder, count, size=8):
    for number in range(count):
        path = folder / ("cat" if number % 2 else "dog") / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image(number, size))
    return folder


def make_tar_gz(path, count, size=8):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for number in range(count):
            for name, data in (("png", image(number, size)), ("cls", str(number % 2).encode())):
                member = tarfile.TarInfo(f"{number:03}.{name}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=0))
    return path


def left_over(folder):
    """Returns the temporary files in a folder, including hidden files of an interrupted `tundish pack`."""
    return [name for name in os.listdir(folder) if name.startswith(".")]


def count_sound(path):
    """Counts the records of a pack with the reader in docs/, which checks every checksum."""
    with open(path, "rb") as file:
        pack = read_tnd().Pack(file)
        for number in range(pack.count):
            pack[number]
        return pack.count
