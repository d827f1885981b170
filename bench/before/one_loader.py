"""Measures the images per second of a Loader with one thread.

Usage: one_loader.py PACK IMAGES [normalize]. PYTHONPATH selects the tundish package to measure.
"""

import sys
import time

import tundish

try:
    from tundish import transforms as T

    T.RandomResizedCrop  # noqa: B018  was tundish.RandomResizedCrop up to 0.1
except (ImportError, AttributeError):
    T = tundish  # type: ignore[assignment]

IMAGES = int(sys.argv[2])
TRANSFORMS = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
if sys.argv[3:] == ["normalize"]:
    TRANSFORMS.append(T.Normalize())

loader = tundish.Loader(
    sys.argv[1],
    64,
    shuffle=True,
    seed=7,
    threads=1,
    backend="numpy",
    uneven="drop",
    transforms=TRANSFORMS,
)
done, begin = -64, 0.0  # the first batch does not count
while done < IMAGES:
    for images, _ in loader:
        done += len(images)
        if done == 0:
            begin = time.perf_counter()
        if done >= IMAGES:
            break
print(done / (time.perf_counter() - begin))
loader.close()
