"""Two processes of a module under tests/helpers, which meet over gloo: MODULE RANK WORLD FOLDER."""

import subprocess
import sys

import torch

from tests.helpers.program import ROOT


def run_two_ranks(module, folder):
    """What each rank wrote to FOLDER/RANK.pt."""
    world = 2
    logs = [open(folder / f"{rank}.txt", "w") for rank in range(world)]  # noqa: SIM115
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, str(rank), str(world), str(folder)],
            cwd=ROOT,
            stdout=logs[rank],
            stderr=subprocess.STDOUT,
        )
        for rank in range(world)
    ]
    try:
        for rank, process in enumerate(processes):
            process.wait(timeout=240)
            assert process.returncode == 0, (folder / f"{rank}.txt").read_text()
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for log in logs:
            log.close()
    return [torch.load(folder / f"{rank}.pt") for rank in range(world)]
