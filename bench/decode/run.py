"""How fast do the bytes of a JPEG become the pixels of a crop? One thread, CPU time, no resize.

decode.cpp runs the contestants: libjpeg-turbo decoding whole images, libjpeg-turbo decoding the region
of the crop, and tundish, which decodes that region exactly. The crops come from RandomResizedCrop(224).
"""

from __future__ import annotations

import json
import os
import subprocess

from ..common.images import prepare
from ..common.rows import ROOT, Rows, arguments, say, table

PROGRAM = ROOT / "build" / "release" / "bench_decode"
SEED = 7

# (name in the table, whether the pixels must equal a full decode)
CONTESTANTS = {
    "turbo_full": ("libjpeg-turbo full", True),
    "turbo_region": ("libjpeg-turbo region", False),
    "tundish": ("tundish", True),
}


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "decode"
    rows = Rows("decode")
    images = prepare(options.data, work, 1, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    core = str(min(os.sched_getaffinity(0)))
    words = ["taskset", "-c", core, PROGRAM, images.jpeg_pack, str(SEED), str(options.rounds)]
    say(f"decoding on core {core}, {options.rounds} rounds")
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    print(report(rows, json.loads(done.stdout), images.about))
    rows.write(options.out)


def report(rows: Rows, result: dict, about: str) -> str:
    """Returns the table, and fills the rows."""
    count = result["images"]
    full = result["seconds"]["turbo_full"]
    lines = []
    for contestant, (name, exact) in CONTESTANTS.items():
        differing, largest = (result["pixels"][contestant][key] for key in ("differing", "largest"))
        pixels = (
            "exact"
            if differing == 0
            else f"{differing:,} of {count:,} crops differ, by up to {largest}"
        )
        if exact and differing:
            rows.note(name, "images_per_s", f"wrong pixels ({pixels}): no time")
            lines.append([name, pixels, "-", "-", "-"])
            continue
        seconds = result["seconds"][contestant]
        rate = rows.add(
            name, "images_per_s", [count / s for s in seconds], "images/s", pixels=pixels
        )
        speed = rows.add(
            name,
            "megapixels_per_s",
            [result["megapixels"] / s for s in seconds],
            "MP/s",
            pixels=pixels,
        )
        # Ratios within a round, in which slow moments of the machine affect both contestants.
        gain = rows.add(
            f"{name} / libjpeg-turbo full",
            "ratio",
            [f / s for f, s in zip(full, seconds, strict=True)],
            "x",
        )
        lines.append([name, pixels, f"{rate:,.0f}", f"{speed:,.0f}", f"{gain:.2f}"])
    head = ["contestant", "pixels", "img/s", "MP/s of the image", "x full"]
    share = f"crops are {result['crop_share']:.0%} of the pixels"
    return "\n".join(
        [
            f"JPEG to the pixels of a crop, CPU time of one core; {about}, {share}",
            rows.heading(),
            "",
            table(head, lines),
        ]
    )


if __name__ == "__main__":
    main()
