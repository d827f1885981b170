"""nvJPEG through torchvision's decode_jpeg on a GPU: only decodes whole photos to uint8.

python3 nvjpeg.py FOLDER [--batch N] [--seconds S]     prints one JSON object per figure
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from torchvision.io import ImageReadMode, decode_jpeg


def rate(files: list[torch.Tensor], batch: int, seconds: float) -> float:
    images = [files[i % len(files)] for i in range(batch)]
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        decode_jpeg(images, mode=ImageReadMode.RGB, device="cuda")
        torch.cuda.synchronize()
        count += batch
    return count / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files = [
        torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        for path in sorted(options.folder.rglob("*"))
        if path.suffix.lower() in (".jpeg", ".jpg")
    ]
    rate(files, options.batch, 0.1)
    values = [rate(files, options.batch, options.seconds) for _ in range(options.rounds)]
    print(json.dumps({"metric": "nvJPEG, decoding only", "unit": "images/s", "values": values}))


if __name__ == "__main__":
    main()
