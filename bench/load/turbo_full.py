"""libjpeg-turbo decoding whole images, followed by the engine's resize (turbo_full.cpp)."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ..common.process import KEPT, Job
from ..common.rows import ROOT

PROGRAM = ROOT / "build" / "release" / "bench_load"


def plans(pack: str, seed: int, epochs: int) -> np.ndarray:
    """Returns x, y, width, height and mirrored for every draw of a loader with this seed."""
    words = [PROGRAM, "plans", pack, str(seed), str(epochs)]
    out = subprocess.run(words, check=True, capture_output=True).stdout
    return np.frombuffer(out, np.int32).reshape(-1, 5)


def cpu_of(environment: dict[str, str]) -> str:
    """Returns the instruction set that the engine chooses in an environment."""
    words = [PROGRAM, "cpu"]
    return subprocess.run(
        words, check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


if __name__ == "__main__":
    job = Job(**json.loads(Path(sys.argv[1]).read_text()))
    pixels = job.keep + ".raw" if job.keep else ""
    figures = [job.seed, job.epochs, job.threads, job.batch, job.warm]
    words = [
        "taskset",
        "-c",
        ",".join(map(str, job.cpus)),
        PROGRAM,
        "full",
        job.jpeg_pack,
        *map(str, figures),
    ]
    out = subprocess.run(
        [*words, *([pixels, str(KEPT)] if pixels else [])],
        check=True,
        capture_output=True,
        text=True,
    )
    if job.keep:
        images = np.fromfile(pixels, np.uint8).reshape(-1, 224, 224, 3)
        np.savez(job.keep, images=images, draws=np.arange(len(images)))
        Path(pixels).unlink()
    print(out.stdout.strip())
