"""How fast do the bytes of a PNG become pixels? One thread, CPU time.

png.cpp runs the contestants: libpng with Debian's zlib, row by row, and tundish. Their pixels must be
equal. Pillow writes the images of the dataset as four kinds of PNG.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

from PIL import Image

from ..common.images import prepare, read_images
from ..common.rows import ROOT, Rows, arguments, say, table

PROGRAM = ROOT / "build" / "release" / "bench_png"
KINDS = {"RGB": "RGB", "RGB and alpha": "RGBA", "gray": "L", "palette": "P"}


def write_pngs(images: Path, folder: Path, mode: str, count: int) -> None:
    """Writes the first `count` images, at most 1,000 pixels on a side, as PNGs of one kind."""
    (folder / "x").mkdir(parents=True, exist_ok=True)
    for number, (_, data) in enumerate(read_images(images)):
        if number == count:
            return
        with Image.open(io.BytesIO(data)) as image:
            picture = image.convert("RGB")
        picture.thumbnail((1000, 1000))
        made = picture.quantize(256) if mode == "P" else picture.convert(mode)
        if mode == "RGBA":
            made.putalpha(picture.convert("L"))
        made.save(folder / "x" / f"{number:04}.png")


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=7)
    parser.add_argument("--count", type=int, default=40, help="images of each kind (40)")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "png"
    rows = Rows("png")
    images = prepare(options.data, work, 1, 0, codecs=())
    rows.set_data(images.about, images.name, images.digest)
    core = str(min(os.sched_getaffinity(0)))
    results = {}
    for kind, mode in KINDS.items():
        folder = work / f"png-{mode}-{options.count}"
        if not folder.exists():
            write_pngs(images.folder, folder, mode, options.count)
        say(f"{kind}: decoding on core {core}, {options.rounds} rounds")
        words = ["taskset", "-c", core, PROGRAM, folder, str(options.rounds)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        results[kind] = json.loads(done.stdout)
    print(report(rows, results, images.about))
    rows.write(options.out)


def report(rows: Rows, results: dict, about: str) -> str:
    """Returns the table, and fills the rows."""
    lines = []
    for kind, result in results.items():
        if result["differing"]:
            pixels = f"{result['differing']:,} of {result['images']:,} differ"
            rows.note(f"tundish, {kind}", "megapixels_per_s", f"wrong pixels ({pixels}): no time")
            lines.append([kind, pixels, "-", "-", "-"])
            continue
        seconds = result["seconds"]
        speeds = [
            rows.add(
                f"{name}, {kind}",
                "megapixels_per_s",
                [result["megapixels"] / s for s in seconds[name]],
                "MP/s",
                pixels="exact",
            )
            for name in ("libpng", "tundish")
        ]
        # Ratios within a round, in which slow moments of the machine affect both contestants.
        gain = rows.add(
            f"tundish / libpng, {kind}",
            "ratio",
            [a / b for a, b in zip(seconds["libpng"], seconds["tundish"], strict=True)],
            "x",
        )
        lines.append([kind, "exact", *(f"{speed:,.0f}" for speed in speeds), f"{gain:.2f}"])
    head = ["PNG", "pixels", "libpng MP/s", "tundish MP/s", "x libpng"]
    title = f"PNG to pixels, CPU time of one core; PNGs written by Pillow from {about}"
    return "\n".join([title, rows.heading(), "", table(head, lines)])


if __name__ == "__main__":
    main()
