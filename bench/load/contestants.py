"""Who takes part in `bench load`, and how a contestant's process is started."""

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

SAME = 0.5  # mean difference in levels of decoders and resizes that round differently


@dataclass(frozen=True)
class Contestant:
    name: str  # in the table
    reads: str  # member of Images: files, pack, jpeg_pack; or own: a format of its own
    off: float = 0  # mean difference to Pillow's pixels that is allowed, in levels; 0: exact
    peer: str = ""  # its environment, of peers.py
    torch: bool = False  # hands out torch's tensors, and so has torch in memory


# By file. FFmpeg takes chroma apart from luma through its filters. FFCV's images were resized and re-encoded when its file was written, and its decoder is
# set up to be fast rather than exact: its pixels are its own by design, and only gross errors are seen.
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
# The loader from a pack can be held to an instruction set: NAME:CPU is NAME with TUNDISH_CPU=CPU.
CONTESTANTS |= {
    f"tundish_pack:{cpu}": replace(CONTESTANTS["tundish_pack"], name=f"tundish, {spoken}")
    for cpu, spoken in CPUS.items()
}


def is_ours(contestant: str) -> bool:
    return contestant.partition(":")[0] in OURS


def with_cpus(chosen: list[str], cpus: list[str]) -> list[str]:
    """After the loader from a pack, the same loader with every instruction set."""
    out = []
    for contestant in chosen:
        out.append(contestant)
        out += [name for cpu in cpus if (name := f"{contestant}:{cpu}") in CONTESTANTS]
    return out


def start(contestant: str, job: Job, work: Path) -> dict[str, Any]:
    """Runs a contestant's process; gives what it printed."""
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
    """Of the files it reads."""
    reads = CONTESTANTS[contestant].reads
    if reads == "files":
        return images.bytes
    path = own_data(contestant, work) if reads == "own" else getattr(images, reads)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
