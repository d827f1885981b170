"""Checks that an accelerated script yields the original script's batches, before any timing.

python -m bench.dropin.same_batches JOB CONTESTANT...

Prints a JSON object that maps each contestant to "exact" or to a description of the difference.
"""

import itertools
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import tundish

from ..common.process import Job
from .script import EVALUATE, of_photos, of_readings

BATCHES = 4


def difference(ours: Any, theirs: Any) -> str:
    largest = 0.0
    for one, other in itertools.islice(zip(ours, theirs, strict=True), BATCHES):
        if not torch.equal(one[1], other[1]):
            return "other labels"
        largest = max(largest, float((one[0] - other[0]).abs().max()))
    return "exact" if largest == 0 else f"differs by up to {largest:.1e}"


def main() -> None:
    logging.getLogger("tundish").setLevel(logging.ERROR)
    job = Job(**json.loads(Path(sys.argv[1]).read_text()))
    print(json.dumps({name: CHECKS[name](job) for name in CHECKS if name in sys.argv[2:]}))


def of_folder(job: Job, pack: str | None) -> str:
    theirs = of_photos(job, EVALUATE, shuffle=False)
    loader = tundish.accelerate(theirs, pack=pack, threads=job.threads)
    return difference(loader, theirs) if loader.report.native else f"{loader.report}"


def compare_readings(job: Job) -> str:
    """Compares the batches of a user's dataset, shuffled with the same seed."""
    torch.manual_seed(1)
    theirs = list(itertools.islice(of_readings(job), BATCHES))
    torch.manual_seed(1)
    with tundish.accelerate(of_readings(job)) as loader:
        return difference(list(itertools.islice(loader, BATCHES)), theirs)


CHECKS: dict[str, Callable[[Job], str]] = {
    "accelerate_files": lambda job: of_folder(job, None),
    "accelerate_pack": lambda job: of_folder(job, job.pack),
    "accelerate_readings": compare_readings,
}

if __name__ == "__main__":
    main()
