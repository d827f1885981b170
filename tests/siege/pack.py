"""Interrupts packs at random moments: `./dev siege pack`.

First, Ctrl-C or SIGKILL interrupt packs of a folder and of a compressed archive, as one file, as
shards and as one part of several. Each job resumes until it is complete and must have the bytes of
an uninterrupted pack. Then, SIGKILLs only: after each, visible files are complete and no finished
shard is missing.
"""

import argparse
import collections
import random
import signal
import tempfile
import time
from pathlib import Path

from tests.helpers.interrupted_packs import Job
from tests.helpers.small_set import make_folder, make_tar_gz

OPTIONS = {
    "file": ["--checkpoint", "0"],
    "file, timed checkpoints": ["--checkpoint", "0.01"],
    "shards": ["--checkpoint", "0", "--shard-size", "60KB"],
    "shards, timed checkpoints": ["--checkpoint", "0.01", "--shard-size", "200KB"],
    "part": ["--checkpoint", "0", "--shard", "1/3"],
}


def jobs(folder: Path) -> dict[str, Job]:
    sources = {
        "folder": make_folder(folder / "photos", 150, size=40),
        "archive": make_tar_gz(folder / "a.tar.gz", 150, size=40),
    }
    return {
        f"{kind} to {name}": Job(folder, f"{kind}-{number}", source, options)
        for kind, source in sources.items()
        for number, (name, options) in enumerate(OPTIONS.items())
    }


def campaign(
    all_jobs: dict[str, Job], hits: int, until: float, choose: random.Random, signals: tuple
) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    while counts["interruptions"] < hits and time.monotonic() < until:
        name = choose.choice(list(all_jobs))
        job = all_jobs[name]
        for _ in range(choose.randrange(1, 8)):
            if not job.interrupt(choose, signals):
                break
            counts["interruptions"] += 1
            counts[name] += 1
        counts["left journals"] += len(job.finish())
        counts["packs compared"] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interruptions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=24 * 3600, help="at most, for each half")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        all_jobs = jobs(Path(folder))
        for what, hits, signals in (
            ("interruptions", arguments.interruptions, (signal.SIGKILL, signal.SIGINT)),
            ("kills", arguments.kills, (signal.SIGKILL,)),
        ):
            start = time.monotonic()
            counts = campaign(all_jobs, hits, start + arguments.seconds, choose, signals)
            print(f"{what} in {time.monotonic() - start:.0f} s:")
            for name, count in sorted(counts.items()):
                print(f"  {count:6}  {name}")


if __name__ == "__main__":
    main()
