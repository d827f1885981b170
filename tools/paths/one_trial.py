"""Runs `tundish tune` with one trick, for tools/paths/record.py. Also records the trial processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch


def build() -> Any:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.LazyLinear(4)
    )
    images, labels = torch.rand(4, 3, 16, 16), torch.zeros(4, dtype=torch.int64)
    model(images)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    return model, optimizer, torch.nn.CrossEntropyLoss(), (images, labels)


def main(folder: str) -> int:
    import python_stacks
    from tundish.tuning.cli.tune_verb import main as tune
    from tundish.tuning.trials import trial

    here = str(Path(__file__).parent)
    recorded = f"sys.path.append({here!r}); import python_stacks; python_stacks.record()\n"
    trial._START = recorded + trial._START
    python_stacks.record()
    output = os.path.join(folder, "plan.json")
    return tune([f"{__file__}:build", "--quick", "--select", "channels_last", "-o", output, "-q"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
