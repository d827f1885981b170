"""Opens loaders with the options that most tests use."""

import tundish
from tundish import transforms as T

RANDOM = [
    T.RandomResizedCrop(32),
    T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(0.3),
    T.Normalize(),
]
SQUARE = [T.Resize((24, 24))]


def opened(path, batch_size=5, **options):
    options.setdefault("transforms", SQUARE)
    options.setdefault("threads", 2)
    return tundish.Loader(path, batch_size, **options)
