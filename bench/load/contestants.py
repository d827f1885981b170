"""Lists the contestants of `bench load`, and starts their processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..common import peers
from ..common.images import Images
from ..common.process import Job
from ..common.rows import CPUS
from .turbo_full import cpu_of

SAME = 0.5  # allowed mean difference in levels, for decoders and resizes that round differently


@dataclass(frozen=True)
class Contestant:
    name: str  # name in the table
    reads: str  # member of Images to read: files, pack or jpeg_pack; "own": a separate format
    off: float = 0  # allowed mean difference from Pillow's pixels, in levels; 0: exact
    peer: str = ""  # environment of the contestant, see peers.py
    torch: bool = False  # whether it returns torch tensors, and therefore has torch in memory


# Contestants by module. FFmpeg filters chroma separately from luma. FFCV's images are resized and
# re-encoded when its file is written, and FFCV's decoder favors speed over accuracy. For FFCV, the check
# only finds gross errors.
CONTESTANTS = {
    "tundish_pack": Contestant("tundish", "pack", torch=True),
    "tundish_numpy": Contestant("tundish, NumPy", "pack"),
    "tundish_jpeg": Contestant("tundish, JPEGs kept", "jpeg_pack", torch=True),
    "tundish_folder": Contestant("tundish, loose files", "files", torch=True),
    "turbo_full": Contestant("libjpeg-turbo full + our resize", "jpeg_pack"),
    "torch_pillow": Contestant("torch DataLoader + Pillow", "files", torch=True),
    "torch_torchvision": Contestant("torch DataLoader + torchvision.io", "files", SAME, torch=True),
    "dali": Contestant("DALI CPU", "files", SAME, "dali"),
    "tf_data": Contestant("tf.data", "files", SAME, "tensorflow"),
    "spdl_ffmpeg": Contestant("SPDL", "files", 1, "spdl"),
    "web_dataset": Contestant("WebDataset", "own", SAME, "webdataset", torch=True),
    "ffcv_jpeg": Contestant("FFCV, JPEG q90 512 px", "own", 4, "ffcv", torch=True),
    "ffcv_raw": Contestant("FFCV, pixels 512 px", "own", 4, "ffcv", torch=True),
}
PEERS = sorted({one.peer for one in CONTESTANTS.values()} - {""})
OURS = [name for name in CONTESTANTS if name.startswith("tundish_")]
# tundish.Loader can be limited to an instruction set: NAME:CPU sets TUNDISH_CPU=CPU.
CONTESTANTS |= {
    f"tundish_pack:{cpu}": replace(CONTESTANTS["tundish_pack"], name=f"tundish, {spoken}")
    for cpu, spoken in CPUS.items()
}


def is_ours(contestant: str) -> bool:
    return contestant.partition(":")[0] in OURS


def with_cpus(chosen: list[str], cpus: list[str]) -> list[str]:
    """Adds tundish.Loader with each instruction set, after the unlimited loader."""
    out = []
    for contestant in chosen:
        out.append(contestant)
        out += [name for cpu in cpus if (name := f"{contestant}:{cpu}") in CONTESTANTS]
    return out


def start(contestant: str, job: Job, work: Path) -> dict[str, Any]:
    """Runs a contestant's process and returns the JSON that it printed."""
    name, _, cpu = contestant.partition(":")
    environment = dict(os.environ)
    if cpu:
        environment["TUNDISH_CPU"] = cpu
        if (used := cpu_of(environment)) != cpu:
            return {"unavailable": f"this machine has {CPUS[used]} at best"}
    peer = CONTESTANTS[contestant].peer
    python = peers.python_of(peer) if peer else sys.executable
    if python is None:
        return {"unavailable": f"{peer} is not installed; --peers installs it"}
    file = work / "job.json"
    replace(job, own=str(own_data(contestant, work))).write(file)
    done = subprocess.run(
        [python, "-m", f"bench.load.{name}", file], capture_output=True, text=True, env=environment
    )
    if done.returncode != 0:
        return {
            "unavailable": (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]
        }
    return json.loads(done.stdout.strip().splitlines()[-1])


def own_data(contestant: str, work: Path) -> Path:
    return work / f"{contestant}.data"


def data_bytes(contestant: str, images: Images, work: Path) -> int:
    """Returns the size of the files that a contestant reads."""
    reads = CONTESTANTS[contestant].reads
    if reads == "files":
        return images.bytes
    path = own_data(contestant, work) if reads == "own" else getattr(images, reads)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
