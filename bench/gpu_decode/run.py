"""How fast do lanes records in host memory become batches on a GPU?

    ./dev gpu run speed     or: ./dev bench gpu_decode [--pack FILE.tnd] [--out FILE]

The task is RandomResizedCrop(224), flip, bfloat16 and Normalize, in batches of 512. The program
bench_gpu_decode (gpu_decode.cpp) first compares its batches with batches from the CPU. It then times
prepared batches, the whole path from records to batches, each stage, and the host's work. For
comparison, nvJPEG (torchvision's decode_jpeg on a GPU) only decodes the same photos in the same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..common.rows import ROOT, Rows, middle, table


def program() -> Path:
    for folder in (ROOT / "bin", ROOT / "build/release"):
        if (folder / "bench_gpu_decode").is_file():
            return folder / "bench_gpu_decode"
    sys.exit("bench_gpu_decode is not built; it needs nvcc: ./dev gpu bundle")


def figures(*command: str | Path) -> Iterable[dict[str, object]]:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pack", type=Path, default=ROOT / "build/gpu/photos.tnd")
    parser.add_argument("--photos", type=Path, help="the same photos as JPEG files")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args()
    folder = options.photos or options.pack.parent / "photos"

    import torch

    torch.cuda.init()
    rows = Rows("gpu_decode", "torchvision", command="./dev gpu run speed")
    lines = []

    def add(contestant: str, figure: dict[str, object]) -> None:
        values = [float(value) for value in figure["values"]]  # type: ignore[attr-defined]
        metric, unit = str(figure["metric"]), str(figure["unit"])
        value = rows.add(contestant, metric, values, unit, batch=options.batch)
        shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"
        lines.append([metric, shown, unit, f"{middle(values)[1]:.1%}", str(len(values))])

    sizes = ["--batch", str(options.batch), "--rounds", str(options.rounds)]
    for figure in figures(program(), options.pack, *sizes):
        add("tundish", figure)
    try:
        script = Path(__file__).parent / "nvjpeg.py"
        for figure in figures(sys.executable, script, folder, "--batch", str(options.batch)):
            add("torchvision", figure)
    except RuntimeError as reason:
        rows.note("torchvision", "nvJPEG, decoding only", str(reason))
        lines.append(["nvJPEG, decoding only", "-", str(reason), "", "0"])
    print(table(["figure", "value", "unit", "spread", "runs"], lines))
    print(rows.heading())
    rows.write(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
