"""A Python contestant's process: it answers JSON lines as augment.cpp does, so that contestants take turns.

{"operation": name, "arguments": {...}, "milliseconds": 20} gives {"us": ...}; with "keep": FILE the results are
written instead. {"missing": reason}: this contestant has no such operation.
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


def answer_all(
    operations: Mapping[str, Work],
    from_array: Callable[[np.ndarray], Any],
    to_array: Callable[[Any], np.ndarray],
    versions: dict[str, str],
) -> None:
    """Images are converted before the clock starts and after it stops."""
    arrays = np.fromfile(sys.argv[1], np.uint8).reshape(-1, SIDE, SIDE, 3)
    images = [from_array(array.copy()) for array in arrays]
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        work = operations.get(asked["operation"])
        if work is None:
            answer: dict[str, Any] = {"missing": "has no such operation"}
        elif "keep" in asked:
            results = [to_array(work(image, **asked["arguments"])) for image in images]
            np.stack(results).tofile(asked["keep"])
            answer = {}
        else:
            answer = {"us": mean_us(work, images, asked["arguments"], asked["milliseconds"])}
        print(json.dumps(answer), flush=True)


def mean_us(work: Work, images: list[Any], arguments: dict[str, Any], milliseconds: float) -> float:
    """The images take turns. Of each, the fastest call counts: the one that nothing disturbed.

    CPU time: on a busy machine a long call is interrupted more often than a short one.
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
