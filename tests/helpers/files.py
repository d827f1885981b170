"""Writes and reads test files, whose names may contain any bytes."""

import bz2
import io
import os
import random
import tarfile

from PIL import Image


def jpeg(color=(200, 30, 30), size=(32, 24)):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "JPEG")
    return file.getvalue()


def large_jpegs(folder, count=20):
    """Writes images of one class, which together take a few tenths of a second to decode."""
    file = io.BytesIO()
    noise = random.Random(1).randbytes(1500 * 1500)
    Image.frombytes("L", (1500, 1500), noise).convert("RGB").save(file, "JPEG", quality=95)
    for i in range(count):
        write(folder / f"c/{i}.jpg", file.getvalue())
    return folder


def png(size=(16, 16)):
    file = io.BytesIO()
    Image.new("RGB", size, (1, 2, 3)).save(file, "PNG")
    return file.getvalue()


def write(path, data):
    name = os.fsencode(path)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)
    return path


def tar_of(path, files):
    """Writes a tar archive. `files` maps names to contents, in the order of the archive."""
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def endless_tar(path):
    """Writes a compressed archive of a few megabytes that takes many minutes to read."""
    piece, pieces = 46 << 20, 20_000
    member = tarfile.TarInfo("zeros.jpg")
    member.size = piece * pieces
    head = bz2.compress(member.tobuf(tarfile.GNU_FORMAT))
    return write(path, head + bz2.compress(bytes(piece)) * pieces)


def has_open(process, path):
    """Returns whether a process has opened the file, which shows that it is working on the file."""
    folder = f"/proc/{process.pid}/fd"
    try:
        return any(os.path.samefile(f"{folder}/{fd}", path) for fd in os.listdir(folder))
    except FileNotFoundError:  # the process has just closed a descriptor
        return False


def tree(folder):
    """Returns the contents of every file in a folder and its subfolders, by name in bytes."""
    root = os.fsencode(folder)
    files = {}
    for where, _, names in os.walk(root):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, root)] = file.read()
    return files


def left_behind(folder, *expected):
    """Returns unexpected names in a folder, such as temporary files."""
    return sorted(set(os.listdir(folder)) - set(expected))
