"""Creates JPEGs with enough content to train lanes tables on."""

import io
import random

from PIL import Image


def photo(number, quality=90):
    file = io.BytesIO()
    noise = random.Random(number).randbytes(24 * 24 * 3)
    image = Image.frombytes("RGB", (24, 24), noise).resize((320, 320), Image.Resampling.BICUBIC)
    image.save(file, "JPEG", quality=quality)
    return file.getvalue()


def write_photos(folder, numbers, classes=("cat", "dog"), quality=90):
    for number in numbers:
        path = folder / classes[number % len(classes)] / f"{number:03}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(photo(number, quality))
    return folder
