"""Photos and what no GPU decodes, PNG and CMYK, with a caption each: OUT/list.csv.

python -m tests.gpu.mixed_set PHOTOS OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image


def main(photos: Path, out: Path) -> None:
    files = sorted(photos.iterdir())[:48]
    lines = ["path,label,caption"]
    for number, file in enumerate(files):
        to = out / f"class{number % 3}" / f"{number:03}"
        suffix = ".png" if number % 4 == 1 else ".jpg"
        lines.append(f"class{number % 3}/{number:03}{suffix},{number % 3},photo {number}")
        to.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(file) as image:
            if number % 4 == 1:
                image.convert("RGB").resize((200, 150)).save(to.with_suffix(".png"))
            elif number % 12 == 3:
                image.convert("CMYK").save(to.with_suffix(".jpg"))
            else:
                to.with_suffix(".jpg").write_bytes(file.read_bytes())
    (out / "list.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
