"""Python datasets for tests of `tundish.pack(dataset, ...)`. Importing them does not need torch."""

import io
import os
import time

import numpy as np


def pixels(number, height=6, width=5, channels=3):
    return np.random.default_rng(number).integers(0, 256, (height, width, channels), np.uint8)


def photo(number, side=24):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels(number, side, side)).save(file, "JPEG", quality=80)
    return file.getvalue()


class Arrays:
    """A dataset of (uint8 image, label) samples with images of different sizes."""

    classes = ("cat", "dog")

    def __init__(self, count=90):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return pixels(number, 4 + number % 3, 5), number % 2


class WithBadSamples(Arrays):
    """A dataset with bad samples: 41 raises an error, 50 has no label, and 61 is not a tuple."""

    def __getitem__(self, number):
        if number == 41:
            raise KeyError("no such file")
        image, label = super().__getitem__(number)
        if number == 61:
            return image
        return (image, "a word") if number == 50 else (image, label)


class Killed(Arrays):
    """Exits at sample 110 in every process except the first, as long as the file `marker` exists."""

    def __init__(self, marker):
        super().__init__(120)
        self.marker = str(marker)
        self.first = os.getpid()

    def __getitem__(self, number):
        if number == 110 and os.getpid() != self.first and os.path.exists(self.marker):
            os._exit(9)
        return super().__getitem__(number)


class Slow(Arrays):
    """Writes a file named by the process id for every process that reads samples."""

    def __init__(self, folder):
        super().__init__(2000)
        self.folder = str(folder)

    def __getitem__(self, number):
        open(os.path.join(self.folder, str(os.getpid())), "w").close()
        time.sleep(0.02)
        return super().__getitem__(number)


class Unpicklable(Arrays):
    def __init__(self):
        super().__init__()
        self.function = lambda image: image
