"""Creates sources to pack, and reads the results of `tundish`. File names may contain any bytes."""

import io
import json
import os
from pathlib import Path

from PIL import Image

from tests.helpers import program
from tests.helpers.files import write

# File names in os.fsencode order, with spaces, line ends, quotes, and bytes that are not UTF-8.
NAMES = [
    b"Zebra/1.jpg",
    b"a b/two words.JPG",
    b"a/.jpg",
    b"a/nested-1/x.png",
    b"a/nested/deeper/x.png",
    b"a/nested/x.png",
    b"line\nend/tab\there.jpeg",
    b"quote\"'/50%,;.png",
    "ä/é.jpg".encode(),
    "日本/犬.jpg".encode(),
    "\U0001f600/\ue000.jpg".encode(),
    b"\xff\xfe/\xc3.jpg",
    b"\xff\xfe/\xc3\xa4.jpg",
]


def tundish(*words, exit_code=0):
    result = program.tundish(*words)
    assert result.returncode == exit_code, result.stderr.decode()
    return result


def rows(path):
    """Returns the rows of `tundish info --list`, with keys as bytes."""
    lines = tundish("info", "--list", path, "--json").stdout.decode().splitlines()
    found = [json.loads(line) for line in lines]
    for row in found:
        row["key"] = bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
    return found


def keys(path):
    return [row["key"] for row in rows(path)]


def packed(source, exit_code=0):
    target = Path(os.fspath(source) + ".tnd")
    target.unlink(missing_ok=True)
    tundish("pack", source, "-o", target, "--quiet", exit_code=exit_code)
    return target


def error_of(*words, exit_code):
    """Returns the error code and message of a command that fails."""
    found = json.loads(tundish(*words, "--json", exit_code=exit_code).stdout)["error"]
    return found["code"], found["message"]


def exit_code_of(code):
    """Returns the exit code of `tundish` for an error code: 3 for damaged data, 1 for unusable data."""
    return 3 if code in ("TND-310", "TND-312", "TND-314") else 1


def image(number):
    """Returns a small image that is different for each number."""
    file = io.BytesIO()
    color = (number % 256, number // 256, 77)
    Image.new("RGB", (8 + number % 5, 8), color).save(file, "PNG" if number % 2 else "JPEG")
    return file.getvalue()


def write_all(root, files):
    for name, data in files.items():
        write(os.path.join(os.fsencode(root), name), data)
