"""Runs drop_in_*.py of examples/ and tests/examples/programs/: torch's DataLoader, one line changed.

Each script runs through two epochs. A second run is killed in the second epoch and resumes with
exactly the batches that are missing.
"""

import ast
import math
import re

import pytest

from tests.examples.test_examples import PYTHON, TORCHRUN, batches_of, end_of, finished, start
from tests.helpers.program import ROOT
from tests.helpers.small_set import image

COUNT = 51  # one class per sample, so that labels identify samples
FOLDERS = (ROOT / "examples", ROOT / "tests" / "examples" / "programs")
PROGRAMS = sorted(file for folder in FOLDERS for file in folder.glob("*.py"))
KILLED_AFTER = 11  # batches: in the second epoch
LAUNCHERS = {  # example: command line, ranks, steps per epoch
    "drop_in_plain": (PYTHON, 1, 7),
    "drop_in_ddp": (TORCHRUN, 2, 7),
    "drop_in_lightning": (PYTHON, 1, 7),
    "drop_in_accelerate": (PYTHON, 1, 7),
    "drop_in_torchvision": (PYTHON, 1, 7),
    "drop_in_trainer": (PYTHON, 1, 7),
    "drop_in_timm": (PYTHON, 1, 6),  # timm drops the last batch
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("drop_in") / "photos"
    for number in range(COUNT):
        path = root / f"c{number:02}" / "1.png"
        path.parent.mkdir(parents=True)
        path.write_bytes(image(number, 40))
    return root


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_killed_example_resumes_with_exactly_the_missing_batches(name, folder, tmp_path):
    launcher, ranks, steps = LAUNCHERS[name]
    (program,) = [file for file in PROGRAMS if file.stem == name]
    assert len(program.read_text().splitlines()) < 40
    whole = start(launcher, program, tmp_path / "whole", folder, tmp_path / "whole_saved")
    stop = {"STOP_AFTER": str(KILLED_AFTER)}
    killed = start(launcher, program, tmp_path / "killed", folder, tmp_path / "saved", **stop)
    printed = finished(whole)
    _, error = end_of(killed)
    assert killed.returncode != 0, error
    finished(start(launcher, program, tmp_path / "again", folder, tmp_path / "saved"))
    logs = {log: batches_of(tmp_path / log, ranks) for log in ("whole", "killed", "again")}
    given = {log: batches for log, (batches, _) in logs.items()}
    for rank in range(ranks):
        whole, killed, again = (given[log][rank] for log in ("whole", "killed", "again"))
        assert len(whole) == 2 * steps
        assert 0 < len(again) < steps, "in the middle of the second epoch"
        assert killed == whole[: len(killed)]
        assert again == whole[-len(again) :]
    for epoch in range(2):
        seen = [s for r in given["whole"] for b in r if b["epoch"] == epoch for s in b["samples"]]
        assert len(seen) - len(set(seen)) < ranks, "every sample once"
        assert len(set(seen)) == (COUNT if steps == 7 else 48)
    assert logs["again"][1] == logs["whole"][1], "the very weights"
    assert all(end["finite"] for end in logs["whole"][1])
    assert all(math.isfinite(float(loss)) for loss in re.findall(r"loss ([^\s,]+)", printed))


def fixed_numbers_of_classes(text):
    """Returns literal class counts of a model: keyword arguments and the last linear layer."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    names = ("num_classes", "num_labels", "classes")
    given = [word.value for call in calls for word in call.keywords if word.arg in names]
    linear = [call for call in calls if ast.unparse(call.func).endswith("Linear")]
    last = max(linear, key=lambda call: call.lineno, default=None)
    given += [last.args[-1]] if last else []
    return [ast.unparse(value) for value in given if isinstance(value, ast.Constant)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.stem)
def test_an_example_takes_the_number_of_classes_from_the_data(program):
    assert fixed_numbers_of_classes(program.read_text()) == []


def test_a_fixed_number_of_classes_would_be_found():
    assert fixed_numbers_of_classes("nn.Linear(3, 5)\nnn.Linear(5, 99)") == ["99"]
    assert fixed_numbers_of_classes("config(num_labels=99)\nnn.Linear(5, len(classes))") == ["99"]
