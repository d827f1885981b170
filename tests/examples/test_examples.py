"""Runs the programs in examples/ in separate processes, like a reader would.

tests/helpers/watched.py records the batches of the loaders. Each program runs through two epochs. A
second run is killed in the second epoch and started again.
"""

import json
import math
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
import tundish
from tundish import transforms as T

from tests.conftest import RANK_VARIABLES
from tests.helpers.program import ROOT
from tests.helpers.small_set import make_folder
from tests.helpers.warm_python import FRAMEWORKS, WarmProcess

EXAMPLES = ROOT / "examples"
WATCHED = ROOT / "tests" / "helpers" / "watched.py"
COUNT = 51
STEPS = 7  # steps per epoch with global batches of 8
KILLED_AFTER = 11  # batches: in the second epoch
LIMIT_S = 600  # only a hang reaches the limit
PYTHON = []  # arguments between `python` and the program
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TWO_DEVICES = {"DEVICES": "2", "ACCELERATOR": "cpu", "STRATEGY": "ddp"}  # for Lightning

LAUNCHERS = {  # example: command line, ranks
    "train_plain": (PYTHON, 1),
    "train_ddp": (TORCHRUN, 2),
    "train_lightning": (PYTHON, 1),
    "train_accelerate": (PYTHON, 1),
}


@pytest.fixture(scope="module")
def pack(make, tmp_path_factory):
    root = tmp_path_factory.mktemp("examples")
    return make.pack(make_folder(root / "folder", COUNT, size=40), root / "set.tnd")


def start(launcher, program, log, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in RANK_VARIABLES}
    environment |= {"PROGRAM": str(program), "LOG": str(log), "OMP_NUM_THREADS": "1", **variables}
    words = [*launcher, WATCHED, *arguments]
    return WarmProcess(words, FRAMEWORKS, environment, nested=True)


def end_of(process):
    """Returns the output of a process; a process that hangs is killed."""
    try:
        return process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail("\n".join(["it hangs; it printed:", *process.communicate()]))


def finished(process):
    out, error = end_of(process)
    assert process.returncode == 0, error
    return out


def batches_of(log, ranks):
    """Returns the batches of every rank, and the final lines."""
    lines = [
        [json.loads(line) for line in Path(f"{log}.{rank}").read_text().splitlines()]
        for rank in range(ranks)
    ]
    given = [[line for line in rank if "samples" in line] for rank in lines]
    return given, [rank[-1] for rank in lines if "weights" in rank[-1]]


def check_visits(given, steps):
    """Checks that every epoch visits every sample; padding is fewer samples than ranks."""
    for epoch in range(2):
        of_ranks = [[line["samples"] for line in rank if line["epoch"] == epoch] for rank in given]
        assert {len(batches) for batches in of_ranks} == {steps}
        samples = [sample for batches in of_ranks for batch in batches for sample in batch]
        assert set(samples) == set(range(COUNT))
        assert len(samples) == COUNT + -COUNT % len(given)
    assert [line["samples"] for line in given[0][:steps]] != [
        line["samples"] for line in given[0][steps:]
    ]


@pytest.fixture(scope="module", params=list(LAUNCHERS))
def runs(request, pack, tmp_path_factory):
    """Batches and final lines of an example: a whole run, a killed run, and the resumed run."""
    launcher, ranks = LAUNCHERS[request.param]
    program = EXAMPLES / f"{request.param}.py"
    root = tmp_path_factory.mktemp(request.param)
    whole = start(launcher, program, root / "whole", pack, root / "whole_checkpoint")
    stop = {"STOP_AFTER": str(KILLED_AFTER)}
    killed = start(launcher, program, root / "killed", pack, root / "checkpoint", **stop)
    printed = finished(whole)
    _, error = end_of(killed)
    assert killed.returncode != 0, error
    finished(start(launcher, program, root / "again", pack, root / "checkpoint"))
    logs = {name: batches_of(root / name, ranks) for name in ("whole", "killed", "again")}
    return request.param, root, printed, logs


def test_an_example_gives_every_sample_once_an_epoch(runs):
    _, _, _, logs = runs
    check_visits(logs["whole"][0], STEPS)


def test_a_killed_example_resumes_in_mid_epoch(runs):
    _, _, _, logs = runs
    whole, killed, again = (logs[name][0] for name in ("whole", "killed", "again"))
    for rank in range(len(whole)):
        assert 0 < len(again[rank]) < STEPS, "in the middle of the second epoch"
        assert killed[rank] == whole[rank][: len(killed[rank])]
        assert again[rank] == whole[rank][-len(again[rank]) :], "the very batches"
    assert len(killed[0]) + len(again[0]) >= 2 * STEPS, "nothing was left out"
    assert logs["again"][1] == logs["whole"][1], "the very weights"


def test_the_loss_and_the_weights_of_an_example_are_finite(runs):
    name, _, printed, logs = runs
    assert all(end["finite"] for end in logs["whole"][1])
    losses = [float(text) for text in re.findall(r"loss (\S+)", printed)]
    assert all(math.isfinite(loss) for loss in losses)
    assert len(losses) == (0 if name == "train_lightning" else 6)  # Lightning prints a bar


@pytest.mark.parametrize(
    ("name", "launcher", "variables"),
    [
        ("train_accelerate", TORCHRUN, {"ACCELERATE_USE_CPU": "true"}),
        ("train_lightning", PYTHON, {f"PL_TRAINER_{k}": v for k, v in TWO_DEVICES.items()}),
    ],
)
def test_two_processes_of_a_framework_share_the_samples(pack, tmp_path, name, launcher, variables):
    log = tmp_path / "log"
    finished(start(launcher, EXAMPLES / f"{name}.py", log, pack, tmp_path / "saved", **variables))
    given, ends = batches_of(log, ranks=2)
    check_visits(given, steps=4)
    assert ends[0] == ends[1]


def test_lightning_goes_on_after_a_checkpoint_at_the_end_of_an_epoch(pack, tmp_path):
    text = (EXAMPLES / "train_lightning.py").read_text()
    program = tmp_path / "train.py"
    program.write_text(text.replace("every_n_train_steps=3", f"every_n_train_steps={STEPS}"))
    assert program.read_text() != text
    log = tmp_path / "log"
    stop = {"STOP_AFTER": str(STEPS + 1)}
    end_of(start(PYTHON, program, log, pack, tmp_path / "saved", **stop))
    before = batches_of(log, ranks=1)[0][0]
    assert len(before) == STEPS + 1
    finished(start(PYTHON, program, tmp_path / "again", pack, tmp_path / "saved"))
    again = batches_of(tmp_path / "again", ranks=1)[0][0]
    check_visits([before[:STEPS] + again], STEPS)
    assert again[0] == before[STEPS]


def test_the_evaluation_of_several_ranks_is_exactly_that_of_one(pack, tmp_path):
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 32, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)]
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(32, 2))
    torch.save({"model": model.state_dict()}, tmp_path / "checkpoint.pt")
    plain = [T.Resize(36), T.CenterCrop(32), T.Normalize()]
    with torch.no_grad():
        right = sum(
            int((model(images).argmax(1) == labels).sum())
            for images, labels in tundish.Loader(pack, 4, transforms=plain)
        )
    program, log = EXAMPLES / "evaluate_ddp.py", tmp_path / "log"
    printed = finished(start(TORCHRUN, program, log, pack, tmp_path / "checkpoint.pt"))
    assert f"{right} of {COUNT} right: accuracy {right / COUNT:.4f}" in printed
    given, _ = batches_of(log, ranks=2)
    assert sorted(sample for rank in given for b in rank for sample in b["samples"]) == list(
        range(COUNT)
    )


@pytest.mark.parametrize("name", [*LAUNCHERS, "evaluate_ddp"])
def test_an_example_is_under_40_lines(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 40
