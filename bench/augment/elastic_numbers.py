"""Computes the random numbers of ElasticTransform from the key in a plan."""

from __future__ import annotations

import numpy as np


def random_numbers(key: int, height: int, width: int) -> np.ndarray:
    """Returns numbers from -1 to 1 for x and y, with the arithmetic of the engine's elastic_number()."""
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15) * np.arange(
            1, height * width + 1, dtype=np.uint64
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = (x ^ (x >> np.uint64(31))).reshape(height, width)
    both = [(bits >> np.uint64(shift) & np.uint64(0xFFFFFF)).astype(np.int64) for shift in (0, 24)]
    return ((np.stack(both) - 2**23) / 2**23).astype(np.float32)
