"""A trial never starts a tuning run of its own, and ends with its parent."""

from __future__ import annotations

import os
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest
import tundish
from tundish.tuning import find_batch_size
from tundish.tuning.trials.trial_process import main

from .test_trial import children

pytestmark = pytest.mark.usefixtures("warm_trials")

SCRIPT = """
import torch, tundish
from tundish.tuning import find_batch_size

def build():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, torch.nn.CrossEntropyLoss(), (torch.randn(8, 4), torch.randint(2, (8,)))

{call}
"""


@pytest.mark.parametrize("call", ["tundish.tune(build, minutes=0.1)", "find_batch_size(build)"])
def test_a_script_without_a_main_guard_is_refused(call: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(call=call))
    for run in (lambda job: tundish.tune(job, minutes=0.1), find_batch_size):
        with pytest.raises(tundish.ArgumentError) as caught:
            run(f"{script}:build")
        assert 'below if __name__ == "__main__":' in str(caught.value)
    assert not children()


def test_a_trial_whose_parent_ended_runs_no_request(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    parent_end, child_end = Pipe()
    request = {"do": "call", "function": "os:mkdir", "path": str(folder)}
    parent_end.send(request)
    parent_end.close()
    process = os.fork()
    if process == 0:
        try:
            main(child_end.fileno())
        finally:
            os._exit(0)
    child_end.close()
    os.waitpid(process, 0)
    assert not folder.exists()
