"""Loaders as most tests want them."""

import tundish

RANDOM = [
    tundish.RandomResizedCrop(32),
    tundish.RandomHorizontalFlip(),
    tundish.RandomVerticalFlip(0.3),
    tundish.Normalize(),
]
SQUARE = [tundish.Resize((24, 24))]


def opened(path, batch_size=5, **options):
    options.setdefault("transforms", SQUARE)
    options.setdefault("threads", 2)
    return tundish.Loader(path, batch_size, **options)
