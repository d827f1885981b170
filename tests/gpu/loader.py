"""GPU checks of `Loader(device="cuda")`.

    ./dev gpu run loader     on a machine with a GPU, driver, Python and torch

Compares every batch with a batch of a loader without device=, in every decoding mode. Covers types
and layouts, other codecs, resuming, early exit, kept batches and two loaders at once
(loader_batches.py); batches of arrays (loader_arrays.py); damaged data (loader_bad.py). Also covers
a busy GPU, CUDA graphs, whether a step blocks the host, and the copy rate (loader_streams.py).
Prints a line per check; the last line counts them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.common.rows import Rows
from tests.gpu.loader_arrays import array_batches, arrays_kept, arrays_resumed
from tests.gpu.loader_bad import damaged, undecodable, undecodable_raised
from tests.gpu.loader_batches import (
    decoded_images_are_counted,
    elastic_and_aug_mix,
    grays,
    kept_and_dropped,
    label_vectors,
    left_early,
    other_codecs,
    other_fields,
    resumed,
    two_at_once,
    types_and_layouts,
)
from tests.gpu.loader_streams import (
    ahead_of_the_gpu,
    bandwidth,
    current_device_is_kept,
    gpu_wait_is_counted,
    in_a_graph,
    under_load,
    without_waiting,
)
from tests.gpu.loaders import MODES

PER_MODE = [other_codecs, damaged, resumed, kept_and_dropped, left_early, two_at_once]
PER_MODE += [in_a_graph, without_waiting, under_load, other_fields, grays]
PER_MODE += [label_vectors, elastic_and_aug_mix, decoded_images_are_counted]
PER_MODE += [current_device_is_kept, gpu_wait_is_counted, ahead_of_the_gpu]


class Checks:
    def __init__(self) -> None:
        self.done = self.failed = 0

    def __call__(self, name: str, check: Callable[[], Any]) -> None:
        begin = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = check()
            print(f"ok      {name}: {result} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception as error:
            self.failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
        self.done += 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--mixed", type=Path, required=True, help="a pack with other codecs too")
    parser.add_argument("--hostile", type=Path, required=True, help="hostile_set.py's, of --pack")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    checks = Checks()
    for mode in MODES:
        checks(f"{mode}, types and layouts", partial(types_and_layouts, options.pack, mode))
        for check in PER_MODE:
            mixed = check in (other_codecs, other_fields, decoded_images_are_counted)
            path = options.mixed if mixed else options.pack
            name = check.__name__.replace("_", " ")
            checks(f"{mode}, {name}", partial(check, path, mode))
    for test_arrays in (array_batches, arrays_resumed, arrays_kept):
        checks(test_arrays.__name__.replace("_", " "), test_arrays)
    for mode in ("gpu", "resident"):
        for test in (undecodable, undecodable_raised):
            name = test.__name__.replace("_", " ")
            packs = (options.pack, options.hostile)
            checks(f"{mode}, {name}", partial(test, packs, mode))
    rows = Rows("gpu_loader", command="./dev gpu run loader")
    checks("bandwidth", partial(bandwidth, options.pack, rows))
    rows.write(options.out)
    print(f"{checks.done} checks, {checks.failed} failed")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
