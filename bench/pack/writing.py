"""The process of a contestant: writes the images once and prints the time as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Writing:
    folder: str  # folder with one subfolder per class
    files: list[str]  # all files, sorted
    target: str  # file or folder to write, which does not exist yet
    cpus: list[int]

    def start_line(self, python: str | Path, contestant: str, job: Path) -> list[str]:
        job.write_text(json.dumps(asdict(self)))
        return [str(python), "-m", f"bench.pack.{contestant}", str(job)]

    def label_of(self, file: str) -> int:
        """Returns the label of a file: the number of its class folder."""
        return int(Path(file).parent.name.removeprefix("copy"))


def run(write: Callable[[Writing], None]) -> None:
    """Runs and times `write`, without imports. The disk may still be writing when it ends."""
    job = Writing(**json.loads(Path(sys.argv[1]).read_text()))
    os.sched_setaffinity(0, job.cpus)
    begin = time.perf_counter()
    write(job)
    seconds = time.perf_counter() - begin
    family = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in family)
    print(json.dumps({"seconds": seconds, "peak_mb": peak / 1024}))
