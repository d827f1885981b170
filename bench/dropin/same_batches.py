"""Whether an accelerated script gives the batches of the script as it was: before any time counts.

python -m bench.dropin.same_batches JOB: prints {contestant: "exact", or what differs}.
"""

import itertools
import json
import logging
import sys
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
    out = {}
    for name, pack in (("accelerate_files", None), ("accelerate_pack", job.pack)):
        theirs = of_photos(job, EVALUATE, shuffle=False)
        loader = tundish.accelerate(theirs, pack=pack, threads=job.threads)
        kept = "" if loader.report.native else f"{loader.report}"
        out[name] = kept or difference(loader, theirs)
    seeded = []
    for wrap in (lambda loader: loader, tundish.accelerate):
        torch.manual_seed(1)
        seeded.append(list(itertools.islice(wrap(of_readings(job)), BATCHES)))
    out["accelerate_readings"] = difference(*seeded)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
