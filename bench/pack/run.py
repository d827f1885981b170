"""How long does it take to put a folder of images into one file? Images/s, on one core and on all.

Before a time counts, the written data are read back. Images from tundish and MDS must equal the files
byte for byte. FFCV cannot keep the bytes of a JPEG, so only the number and sizes of its images are
compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tundish.report.chart import Bar, bar_chart

from ..common import peers
from ..common.images import TUNDISH, Images, prepare
from ..common.readers import read_tnd
from ..common.rows import ROOT, Rows, arguments, middle, say, table
from .writing import Writing


@dataclass(frozen=True)
class Contestant:
    name: str  # name in the table
    peer: str = ""  # environment of the contestant, see peers.py
    exact: bool = True  # whether it keeps the bytes of the files


CONTESTANTS = {
    "tundish_keep": Contestant("tundish pack --codec keep"),
    "tundish_lanes": Contestant("tundish pack (re-coded)", exact=False),
    "mds": Contestant("MDS", "streaming"),
    "ffcv_jpg": Contestant("FFCV, JPEG q90", "ffcv", exact=False),
    "ffcv_512": Contestant("FFCV, JPEG q90 512 px", "ffcv", exact=False),
}
PEERS = ["ffcv", "streaming"]


def start(contestant: str, job: Writing, work: Path) -> dict[str, Any]:
    """Runs a contestant's process with an empty target. Returns the JSON that it printed."""
    peer = CONTESTANTS[contestant].peer
    python = peers.python_of(peer) if peer else Path(sys.executable)
    if python is None:
        return {"unavailable": f"{peer} is not installed; --peers installs it"}
    remove(Path(job.target))
    os.sync()  # finishes the previous contestant's writes to the disk
    line = job.start_line(python, contestant, work / "job.json")
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        return {"unavailable": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def target_of(contestant: str, work: Path) -> Path:
    ending = {"mds": "", "ffcv_jpg": ".beton", "ffcv_512": ".beton"}.get(contestant, ".tnd")
    return work / f"{contestant}{ending}"


def fault_of(contestant: str, target: Path, job: Writing) -> str:
    """Returns what is wrong with the written data, or "" if it is correct."""
    files = [Path(file) for file in job.files]
    if contestant == "mds":
        digest = hashlib.sha256()
        for file in files:
            content = file.read_bytes()
            digest.update(f"{job.label_of(str(file))} {len(content)} ".encode() + content)
        wrong = ask("mds", target) != {"count": len(files), "digest": digest.hexdigest()}
    elif contestant == "tundish_keep":
        wrong = not same_pack(target, files)
    elif contestant == "tundish_lanes":
        wrong = not same_unpacked(target, files)
    else:
        wrong = ask("ffcv", target)["count"] != len(files)
        if contestant == "ffcv_jpg":
            sizes = sorted(Image.open(file).size[::-1] for file in files)
            wrong |= ask("ffcv", target)["sizes"] != [list(size) for size in sizes]
    return "what it wrote differs from the files" if wrong else ""


def ask(reader: str, target: Path) -> dict[str, Any]:
    python = peers.python_of({"mds": "streaming", "ffcv": "ffcv"}[reader])
    line = [str(python), "-m", f"bench.pack.read_{reader}", str(target)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout.strip().splitlines()[-1])


def same_pack(target: Path, files: list[Path]) -> bool:
    """Compares the number of images, and every 37th image byte for byte.

    Not all images are compared, because the pure Python reader is slow.
    """
    with open(target, "rb") as file:
        pack = read_tnd().Pack(file)
        if pack.count != len(files):
            return False
        return all(pack[i][b"image"] == files[i].read_bytes() for i in range(0, pack.count, 37))


def same_unpacked(target: Path, files: list[Path]) -> bool:
    """Returns whether unpacking a pack yields the original files."""
    folder = target.with_suffix(".unpacked")
    subprocess.run([TUNDISH, "unpack", target, "-o", folder, "--quiet"], check=True)
    found = [folder / file.parent.name / file.name for file in files]
    same = all(a.read_bytes() == b.read_bytes() for a, b in zip(found, files, strict=True))
    shutil.rmtree(folder)
    return same


def report(
    rows: Rows,
    images: Images,
    runs: dict[tuple[str, int], list[dict[str, float]]],
    refused: dict[str, str],
) -> str:
    lines = []
    count = len(images.files)
    for contestant, about in CONTESTANTS.items():
        if contestant in refused:
            rows.note(about.name, "images", refused[contestant])
            lines.append([about.name, "", refused[contestant], "", ""])
            continue
        for cores in sorted({cores for _, cores in runs}):
            taken = runs[contestant, cores]
            rates = [count / one["seconds"] for one in taken]
            ratios = [
                other["seconds"] / one["seconds"]
                for one, other in zip(runs["tundish_keep", cores], taken, strict=True)
            ]
            rate = rows.add(about.name, "images", rates, "images/s", cores=cores)
            rows.add(about.name, "tundish_keep is faster by", ratios, "x", cores=cores)
            peak = rows.add(
                about.name, "peak memory", [one["peak_mb"] for one in taken], "MB", cores=cores
            )
            lines.append(
                [
                    about.name,
                    str(cores),
                    f"{rate:,.0f} +-{100 * middle(rates)[1]:.0f} %",
                    f"{middle(ratios)[0]:.2f}x",
                    f"{peak:,.0f}",
                ]
            )
    head = ["contestant", "cores", "images/s", "keep is faster by", "peak MB"]
    return f"{rows.heading()}\n{images.about}\n\n{table(head, lines)}"


def chart(runs: dict[tuple[str, int], list[dict[str, float]]], count: int) -> str:
    panels = []
    for cores in sorted({cores for _, cores in runs}):
        bars = []
        for contestant in [name for name in CONTESTANTS if (name, cores) in runs]:
            rate = count / float(np.median([one["seconds"] for one in runs[contestant, cores]]))
            ours = contestant == "tundish_keep"
            bars.append(Bar(CONTESTANTS[contestant].name, rate, f"{rate:,.0f}", ours))
        panels.append((f"{cores} core{'s' if cores > 1 else ''}, images/s", bars))
    return bar_chart(panels, "images written per second by each contestant", left=230)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument("--images", type=int, default=1600, help="least images (1600)")
    parser.add_argument("--peers", action="store_true", help="install the rivals first")
    options = parser.parse_args()
    if options.peers:
        peers.install_all(PEERS)
    work = options.work or ROOT / "build" / "bench" / "pack"
    rows = Rows("pack", more=peers.versions(PEERS))
    images = prepare(options.data, work, options.images, codecs=())
    rows.set_data(images.about, images.name, images.digest)
    cpus = sorted(os.sched_getaffinity(0))
    job = Writing(str(images.folder), images.files, "", cpus)

    say("reading back what each writes")
    refused = {}
    for contestant in CONTESTANTS:
        target = target_of(contestant, work)
        answer = start(contestant, replace(job, target=str(target)), work)
        reason = answer.get("unavailable") or fault_of(contestant, target, job)
        remove(target)
        if reason:
            refused[contestant] = reason
        say(f"  {CONTESTANTS[contestant].name}: {reason or 'right'}")

    runs: dict[tuple[str, int], list[dict[str, float]]] = {}
    racing = [contestant for contestant in CONTESTANTS if contestant not in refused]
    for number in range(options.rounds):
        turn = number % len(racing)
        for cores in dict.fromkeys((1, len(cpus))):
            for contestant in racing[turn:] + racing[:turn]:
                target = target_of(contestant, work)
                this = replace(job, target=str(target), cpus=cpus[:cores])
                answer = start(contestant, this, work)
                if "unavailable" in answer:
                    raise SystemExit(f"bench: {contestant} failed while it was timed: {answer}")
                runs.setdefault((contestant, cores), []).append(answer)
                remove(target)
        say(f"round {number + 1} of {options.rounds}")
    print(report(rows, images, runs, refused))
    rows.write(options.out, chart(runs, len(images.files)))


if __name__ == "__main__":
    main()
