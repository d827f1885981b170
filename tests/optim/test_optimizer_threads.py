"""Optimizer threads, forks, and the end of the process."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, sys, warnings
import torch
from tundish import optim

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: fork with threads
torch.set_num_threads(3)
parameter = torch.nn.Parameter(torch.zeros(1_000_000))
parameter.grad = torch.ones(1_000_000)
optimizer = optim.SGD([parameter], lr=1.0, max_norm=1e9)


def stepped(expected):
    optimizer.step()
    return bool((parameter.detach().numpy() == expected).all())  # torch's threads do not fork


assert stepped(-1)
child = os.fork()
if child == 0:
    os._exit(0 if stepped(-2) and stepped(-3) else 1)
assert os.waitpid(child, 0)[1] == 0, "in the child"
assert stepped(-2), "in the parent"
print("good")
"""


def test_a_forked_child_and_its_parent_both_make_steps() -> None:
    child = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120
    )
    assert child.stdout == "good\n", child.stderr
