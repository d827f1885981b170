"""Flat parameters under DistributedDataParallel: two processes, with and without flatten(), bit by bit."""

import subprocess
import sys

import pytest
import torch

from tests.helpers import flat_ddp_child
from tests.helpers.flat_models import same
from tests.helpers.program import ROOT


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Of both ranks: weights by case, and by what was flattened."""
    folder, world = tmp_path_factory.mktemp("flat_ranks"), 2
    logs = [open(folder / f"{rank}.txt", "w") for rank in range(world)]  # noqa: SIM115
    child = [sys.executable, "-m", "tests.helpers.flat_ddp_child"]
    processes = [
        subprocess.Popen(
            [*child, str(rank), str(world), str(folder)],
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


@pytest.mark.parametrize("flatten", ["bare", "wrapped"])
@pytest.mark.parametrize("case", flat_ddp_child.CASES)
def test_two_ranks_train_as_without_flatten(case, flatten, ranks):
    first, second = (of_rank[case] for of_rank in ranks)
    assert same(first[""], second[""])
    assert same(first[flatten], second[flatten])
    assert same(first[flatten], first[""])
