"""python/tundish/_process has one definition of each fact about a process, which needs no package."""

import ast
import sys

import pytest
import torch
from tundish._c.library import lib
from tundish._process.random_state import RandomState
from tundish._process.ranks import rank_and_world
from tundish._process.usable_cpus import usable_cpus

from tests.helpers.sizes import ROOT

PACKAGE = ROOT / "python" / "tundish"
# Calls that only the file with the definition makes.
ONCE = {
    "sysconfig.get_paths(": {"_process/code_origin.py"},
    "cgroup/cpu.max": {"_process/usable_cpus.py"},
    "random.getstate(": {"_process/random_state.py"},
    "random.get_state(": {"_process/random_state.py"},
    "torch.get_rng_state(": {"_process/random_state.py"},
    # Two that run after torch.distributed was initialized for certain.
    ".get_world_size(": {
        "_process/ranks.py",
        "dropin/rank_notes.py",
        "launch/data_parallel.py",
    },
}


@pytest.mark.parametrize("call", ONCE)
def test_each_fact_is_defined_once(call):
    files = [file for file in PACKAGE.rglob("*.py") if call in file.read_text()]
    assert {str(file.relative_to(PACKAGE)) for file in files} == ONCE[call]


@pytest.mark.parametrize("file", sorted((PACKAGE / "_process").glob("*.py")), ids=lambda f: f.name)
def test_the_modules_import_the_standard_library_alone(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module.split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "4"}, (3, 4)),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (1, 2)),
        ({"SLURM_PROCID": "0"}, (0, 1)),
        ({"RANK": "x", "WORLD_SIZE": ""}, (0, 1)),
        ({"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, (1, 2)),
    ],
)  # fmt: skip
def test_the_rank_comes_from_the_launcher(monkeypatch, variables, expected):
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert rank_and_world() == expected


def test_the_engine_counts_the_same_cpus():
    assert usable_cpus() == lib.tundish_usable_cpus()


def test_random_states_are_restored_with_further_generators():
    own = torch.Generator().manual_seed(3)
    state = RandomState([own])
    before = torch.rand(2), torch.rand(2, generator=own)
    state.restore()
    assert torch.equal(torch.rand(2), before[0])
    assert torch.equal(torch.rand(2, generator=own), before[1])
