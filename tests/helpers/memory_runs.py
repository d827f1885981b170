"""Checks that random loaders stay within their memory budgets.

tests/loader/test_memory.py and `./dev siege memory` run these checks.
"""

import json
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from PIL import Image

from tests.helpers.program import PROGRAM

MIB = 1 << 20
SLACK = 64 * MIB  # memory that the guarantee allows in addition to the budget
# How often each kind of data in make_data() is chosen, relative to the others.
WEIGHTS = {
    "small": 6,
    "large": 2,
    "progressive": 2,
    "turned": 2,
    "interlaced": 2,
    "huge": 1,
    "mixed": 4,
}
WEIGHTS |= {"small pack": 6, "large pack": 2, "mixed pack": 4}
CHILD = Path(__file__).with_name("memory_child.py")


def picture(width: int, height: int, seed: int) -> Image.Image:
    """Returns an image of any size. Enlarges a small image of noise, which is fast."""
    rng = random.Random(seed)
    small = Image.frombytes("RGB", (8, 8), bytes(rng.randrange(256) for _ in range(192)))
    return small.resize((width, height), Image.Resampling.NEAREST)


def interlaced_png(width: int, height: int) -> bytes:
    """Returns a black interlaced PNG, which Pillow cannot write."""
    rows = b""
    for x, y, dx, dy in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        across, down = -(-(width - x) // dx), -(-(height - y) // dy)
        if across > 0 and down > 0:
            rows += bytes(1 + 3 * across) * down

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    data = zlib.compress(rows, 1)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def make_data(root: Path) -> dict[str, Path]:
    """Creates folders of images, one for each kind of memory demand."""
    turned = Image.Exif()
    turned[0x0112] = 6

    def folder(name: str, files: dict[str, Image.Image | bytes], **options) -> Path:
        (root / name / "a").mkdir(parents=True, exist_ok=True)
        for number, (file, image) in enumerate(files.items()):
            path = root / name / "a" / f"{number:03}{file}"
            if isinstance(image, bytes):
                path.write_bytes(image)
            else:
                image.save(path, quality=80, **options)
        return root / name

    small = {f"-{i}.jpg": picture(300 + 40 * (i % 5), 400, i) for i in range(60)}
    large = {f"-{i}.jpg": picture(4000, 3000, i) for i in range(4)}
    folders = {
        "small": folder("small", small),
        "large": folder("large", large),
        "progressive": folder("progressive", large, progressive=True),
        "turned": folder("turned", dict(list(large.items())[:3]), exif=turned),
        "interlaced": folder(
            "interlaced", {f"-{i}.png": interlaced_png(3000, 2000) for i in (0, 1, 2)}
        ),
        "huge": folder("huge", {".jpg": picture(10_000, 10_000, 1)}, progressive=True),
        "mixed": folder(
            "mixed",
            {
                **dict(list(small.items())[:20]),
                **dict(list(large.items())[:3]),
                ".png": interlaced_png(1500, 1500),
            },
            progressive=True,
        ),
    }
    for name in ("small", "large", "mixed"):
        pack = root / f"{name}.tnd"
        line = [PROGRAM, "pack", folders[name], "-o", pack, "--quiet"]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        folders[f"{name} pack"] = pack
    return folders


def random_run(seed: int, data: dict[str, Path]) -> dict:
    rng = random.Random(seed)
    kind = rng.choices(list(data), [WEIGHTS[kind] for kind in data])[0]
    side = rng.choice([32, 224, 500])
    transforms = rng.choice(
        [
            [["RandomResizedCrop", side], ["RandomHorizontalFlip"]],
            [["Resize", [side, side]]],
            [["Resize", 256], ["CenterCrop", 224], ["Normalize"]],
            [["RandomCrop", side, 8, True], ["Resize", [64, 64]]],
        ]
    )
    if rng.random() < 0.1:
        transforms = []  # each batch is one unchanged image
    return {
        "kind": kind,
        "path": str(data[kind]),
        "transforms": transforms,
        "batch_size": rng.choice([1, 2, 8, 32]) if transforms else 1,
        "threads": rng.choice([1, 2, 4, 8]),
        "prefetch": rng.choice([1, 2, 4]),
        "memory": rng.choice([32, 64, 100, 160, 300, 500]) * MIB,
        "exif_orientation": rng.random() < 0.5,
        "epochs": rng.choice([1, 2]),
        "cache": rng.choice([None, None, "encoded", "decoded", "auto"]),
        "seed": seed,
        "counted": True,
    }


class Children:
    """Runs each loader in a fork of a process that has imported all modules, because this is fast."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def execute(self, run: dict) -> dict:
        """Returns the child's result. If there is none, returns the exit status as "rc"."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(run) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closing the input ends the child


def execute_alone(run: dict, **options) -> dict:
    """Runs a loader in a fresh process."""
    line = [sys.executable, str(CHILD), "--once", json.dumps(run)]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=600, env=os.environ, **options
    )
    if done.returncode != 0:
        return {"rc": done.returncode, "text": done.stderr[-2000:]}
    return dict(json.loads(done.stdout))


def fault_of(run: dict, result: dict) -> str:
    """Describes how a run violated the guarantee. Returns "" if it did not."""
    if "rc" in result:
        return f"ended with {result['rc']}: {result['text']}"
    over = result["grown"] - run["memory"] - SLACK
    if over > 0:
        return f"{result['grown'] / MIB:.1f} MiB, {over / MIB:.1f} more than allowed"
    if result["refused"] not in ("", "TND-607"):
        return f"refused with {result['refused']}"
    strange = set(result["bad"]) - {"TND-408", "TND-605"}
    return f"bad samples: {strange}" if strange else ""
