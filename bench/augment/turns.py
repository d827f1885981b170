"""The process of a Python contestant. Like augment.cpp, it answers requests, one JSON line each.

The answer to {"operation": name, "arguments": {...}, "milliseconds": 20} is {"us": ...}. With
"keep": FILE, the process writes the resulting images instead. The answer {"missing": reason} means
that this contestant has no such operation.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

SIDE = 224
LEAST_PASSES = 5

Work = Callable[..., Any]  # (image, **arguments) -> image


def read_pictures() -> list[np.ndarray]:
    arrays = np.fromfile(sys.argv[1], np.uint8).reshape(-1, SIDE, SIDE, 3)
    return [array.copy() for array in arrays]


def serve(
    operations: Mapping[str, Work],
    results: Callable[[Work, dict[str, Any]], np.ndarray],
    us: Callable[[Work, dict[str, Any], float], float],
    versions: dict[str, str],
) -> None:
    """Answers requests until the input ends.

    `results` returns the resulting images for all pictures. `us` measures for the given number of
    milliseconds and returns the microseconds per image.
    """
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        work = operations.get(asked["operation"])
        if work is None:
            answer: dict[str, Any] = {"missing": "has no such operation"}
        elif "keep" in asked:
            results(work, asked["arguments"]).tofile(asked["keep"])
            answer = {}
        else:
            answer = {"us": us(work, asked["arguments"], asked["milliseconds"])}
        print(json.dumps(answer), flush=True)


def answer_all(
    operations: Mapping[str, Work],
    from_array: Callable[[np.ndarray], Any],
    to_array: Callable[[Any], np.ndarray],
    versions: dict[str, str],
) -> None:
    """Serves functions of one image. Images are converted outside the timed section."""
    images = [from_array(array) for array in read_pictures()]

    def results(work: Work, arguments: dict[str, Any]) -> np.ndarray:
        return np.stack([to_array(work(image, **arguments)) for image in images])

    def us(work: Work, arguments: dict[str, Any], milliseconds: float) -> float:
        return mean_us(work, images, arguments, milliseconds)

    serve(operations, results, us, versions)


def mean_us(work: Work, images: list[Any], arguments: dict[str, Any], milliseconds: float) -> float:
    """Returns the microseconds per image: the mean over all images of the fastest call for each.

    The fastest call is the one that was disturbed least. Measures CPU time, because on a busy machine
    long calls are interrupted more often than short ones.
    """
    best = [float("inf")] * len(images)
    end = time.perf_counter() + milliseconds / 1000
    passes = 0
    while passes < LEAST_PASSES or time.perf_counter() < end:
        for i, image in enumerate(images):
            begin = time.thread_time()
            work(image, **arguments)
            best[i] = min(best[i], time.thread_time() - begin)
        passes += 1
    return 1e6 * sum(best) / len(best)
