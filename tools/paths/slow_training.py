"""A training loop on the CPU that waits for its data. tools/paths/one_verdict.py runs this script."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset[tuple[torch.Tensor, int]]):
    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.002)
        return torch.ones(8), index % 4


def main() -> None:
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for inputs, targets in DataLoader(Samples(), 8):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
