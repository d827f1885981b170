"""Writes the files of this folder with safetensors; not run in CI. Content: ../pth/expected.npz."""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

HERE = Path(__file__).parent


def main():
    expected = np.load(HERE.parent / "pth" / "expected.npz")
    images, labels, scores = (expected[name] for name in ("images", "labels", "scores"))
    named = {"images": images, "labels": labels, "scores": scores}
    save_file(named, HERE / "named.safetensors", metadata={"made": "for a test"})
    planes = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
    halves = torch.from_numpy(scores).bfloat16()
    torch_named = {"x": planes, "y": torch.from_numpy(labels), "scores": halves}
    save_torch(torch_named, HERE / "planes.safetensors")


if __name__ == "__main__":
    main()
