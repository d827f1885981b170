"""`tundish pack --codec keep`: stores the files' bytes with checksums. Waits for the disk at the end."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from ..common.images import TUNDISH
from .writing import Writing


def main(codec: str) -> None:
    """Runs the program. The time includes its start. The memory of this process does not matter."""
    job = Writing(**json.loads(Path(sys.argv[1]).read_text()))
    os.sched_setaffinity(0, job.cpus)
    words = [TUNDISH, "pack", job.folder, "-o", job.target, "--quiet", "--codec", codec]
    words += ["--threads", str(len(job.cpus))]
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak_mb": peak / 1024}))


if __name__ == "__main__":
    main("keep")
