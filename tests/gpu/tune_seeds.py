"""Seeds and determinism on a GPU: `python -m tests.gpu.tune_seeds`, needs a GPU and torch.

An operation whose backward pass has no deterministic kernel is named with its forward line. A model
of convolutions gives the same bits twice after seed_everything(deterministic=True).
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from tundish.tuning.job import Job
from tundish.tuning.numerics.nondeterminism import find_nondeterministic
from tundish.tuning.numerics.repeatability import find_difference
from tundish.tuning.seeds import seed_everything


class Upsampled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        x = nn.functional.interpolate(x, scale_factor=2, mode="bicubic")
        return self.head(x.mean((2, 3)))


def job_of(model: nn.Module) -> Job:
    model = model.cuda()
    batch = (torch.randn(8, 3, 32, 32).cuda(), torch.randint(10, (8,)).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return Job(model, optimizer, nn.CrossEntropyLoss(), [batch])


def main() -> int:
    seeds = seed_everything(0, deterministic=True)  # before the first use of CUDA
    plain = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 10, 3))
    plain.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten()])
    difference = find_difference(job_of(plain), runs=5)
    seeds.undo()
    found = find_nondeterministic(job_of(Upsampled()))
    for one in found:
        print(one, "(backward)" if one.in_backward else "(forward)")
    named = any(one.in_backward and "interpolate" in one.text for one in found)
    print(f"interpolate's backward pass named with its line: {'ok' if named else 'MISSING'}")
    print(f"five equal runs: {'ok' if difference is None else difference}")
    return 0 if named and difference is None else 1


if __name__ == "__main__":
    sys.exit(main())
