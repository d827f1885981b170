"""Makes a set of photos and of images that only the CPU decodes (PNG, CMYK, rotated by EXIF).

OUT/list.csv gives each image a caption that names the decoder.

python -m tests.gpu.mixed_set PHOTOS OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ORIENTATION = 0x0112


def main(photos: Path, out: Path) -> None:
    files = sorted(photos.iterdir())[:48]
    lines = ["path,label,caption"]
    for number, file in enumerate(files):
        to = out / f"class{number % 3}" / f"{number:03}"
        to.parent.mkdir(parents=True, exist_ok=True)
        suffix, decoder = ".jpg", "CPU"
        with Image.open(file) as image:
            rgb = image.convert("RGB")
        if number % 4 == 1:
            suffix = ".png"
            rgb.resize((200, 150)).save(to.with_suffix(suffix))
        elif number % 12 == 3:
            rgb.convert("CMYK").save(to.with_suffix(suffix))
        elif number % 12 == 7:
            turned = Image.Exif()
            turned[ORIENTATION] = 6
            rgb.save(to.with_suffix(suffix), quality=95, exif=turned)
        else:
            decoder = "GPU"
            rgb.save(to.with_suffix(suffix), quality=95)
        lines.append(
            f"class{number % 3}/{number:03}{suffix},{number % 3},photo {number} for the {decoder}"
        )
    (out / "list.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
