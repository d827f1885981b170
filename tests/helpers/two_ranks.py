"""Runs a module of tests/helpers as two ranks over gloo, with the arguments RANK WORLD FOLDER."""

import torch

from tests.helpers.program import ROOT
from tests.helpers.warm_python import WarmProcess


def run_two_ranks(module, folder):
    """Runs both ranks. Returns the contents of each rank's file FOLDER/RANK.pt."""
    world = 2
    processes = [
        WarmProcess(["-m", module, rank, world, folder], cwd=ROOT) for rank in range(world)
    ]
    try:
        for process in processes:
            out, error = process.communicate(timeout=240)
            assert process.returncode == 0, out + error
    finally:
        for process in processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt") for rank in range(world)]
