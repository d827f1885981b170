"""Makes the golden lanes records: lanes/*.jpg, lanes.tnd and lanes.json beside this file.

    python -m tests.golden.make_lanes          needs cjpeg of libjpeg-turbo (Debian: libjpeg-turbo-progs)

For the day the format gets a new version, never to make a failing test pass: what these files hold is
what packs of users hold. A pack carries its tables, so other built-in ones change nothing here.
tests/pack/test_golden_lanes.py reads them.
"""

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from tests.helpers.readers import reader

HERE = Path(__file__).resolve().parent
PROGRAM = Path(sys.executable).parent / "tundish"
read_lanes, read_tnd = reader("read_lanes"), reader("read_tnd")


def picture(width: int, height: int, noise: float = 2.0) -> Image.Image:
    """Waves with an edge, few bytes as a JPEG."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 70 * np.sin(x / (9 + 4 * c)) * np.cos(y / (13 - 3 * c)) for c in range(3)]
    waves[0] += 40 * (x + y > (width + height) / 2)
    grain = np.random.default_rng(width * height).normal(0, noise, (height, width, 3))
    return Image.fromarray(np.clip(np.stack(waves, -1) + grain, 0, 255).astype(np.uint8))


def limits() -> Image.Image:
    """Blocks of n coefficients, the first just below or just above an escape, at steps of 2."""
    u, x = np.mgrid[0:8, 0:8]
    basis = np.cos((2 * x + 1) * u * np.pi / 16) * np.where(u == 0, np.sqrt(1 / 8), 1 / 2)
    rows = []
    for count in (1, 6, 9, 13, 20):
        blocks = []
        for magnitude in (14, 15, 26, 27, 48, 49, 88, 89, 127, 128):
            coefficients = np.zeros(64)
            coefficients[read_lanes.ZIGZAG[1 : count + 1]] = (-1.0) ** np.arange(count)
            coefficients[read_lanes.ZIGZAG[1]] *= magnitude
            blocks.append(basis.T @ (2 * coefficients.reshape(8, 8)) @ basis + 128)
        rows.append(np.concatenate(blocks, axis=1))
    return Image.fromarray(np.concatenate(rows).round().clip(0, 255).astype(np.uint8))


def by_pillow(image: Image.Image, **how: object) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", **how)
    return file.getvalue()


def by_cjpeg(image: Image.Image, *words: str) -> bytes:
    """For what Pillow cannot write."""
    file = io.BytesIO()
    image.save(file, "PPM")
    line = ["cjpeg", "-optimize", *words]
    return subprocess.run(line, input=file.getvalue(), capture_output=True, check=True).stdout


def files() -> dict[str, bytes]:
    """Every sampling with a second row and column of units; then what else a record can hold."""
    small = {"optimize": True}
    steps = [list(range(3, 67)), list(range(70, 6, -1))]
    edges = Image.fromarray(((np.indices((9, 10, 3)).sum(0) // 3 % 2) * 255).astype(np.uint8))
    return {
        "400": by_pillow(picture(136, 72).convert("L"), quality=50, **small),
        "444": by_pillow(picture(72, 70), quality=70, subsampling="4:4:4", **small),
        "422": by_pillow(picture(74, 69), quality=60, subsampling="4:2:2", progressive=True),
        "420": by_pillow(picture(140, 75), quality=40, subsampling="4:2:0", **small),
        "440": by_cjpeg(picture(67, 73), "-sample", "1x2", "-quality", "50", "-restart", "3B"),
        "411": by_cjpeg(picture(133, 66), "-sample", "4x1", "-quality", "45"),
        "narrow": by_pillow(picture(3, 149), quality=30, subsampling="4:2:0", **small),
        "one": by_pillow(picture(1, 1), subsampling="4:2:2", comment=b"a comment", **small),
        "rgb": by_pillow(
            picture(19, 11), keep_rgb=True, subsampling="4:4:4", qtables=steps, **small
        ),
        "limits": by_pillow(limits(), qtables=[[2] * 64], **small),
        "steep": by_pillow(edges, quality=100, subsampling="4:4:4", **small),
        "smooth": by_pillow(picture(40, 33, 0), quality=95, subsampling="4:2:0", **small),
        "noisy": by_pillow(picture(27, 20, 30), quality=95, subsampling="4:2:0", **small),
        "coarse": by_cjpeg(picture(33, 31), "-sample", "2x1", "-quality", "2"),
    }


def main() -> None:
    folder, target = HERE / "lanes", HERE / "lanes.tnd"
    folder.mkdir(exist_ok=True)
    for name, data in files().items():
        (folder / f"{name}.jpg").write_bytes(data)
    words = ["pack", folder, "-o", target, "--force", "--quiet", "--lanes-tables", "builtin"]
    subprocess.run([PROGRAM, *words, "--max-growth", "9"], check=True)
    with target.open("rb") as file:
        pack = read_tnd.Pack(file)
        tables = read_lanes.Tables(pack.tables)
        records = [
            read_lanes.read_record(pack[number][b"image"], tables) for number in range(pack.count)
        ]
    names = [key.decode() for key in pack.keys]
    about = {"id": pack.id.hex(), "coefficients": dict(zip(names, map(digest, records)))}
    (HERE / "lanes.json").write_text(json.dumps(about, indent=1) + "\n")


def digest(components: list[np.ndarray]) -> str:
    """Returns the SHA-256 of all coefficients as int16, component by component, row by row."""
    return hashlib.sha256(b"".join(c.astype("<i2").tobytes() for c in components)).hexdigest()


if __name__ == "__main__":
    main()
