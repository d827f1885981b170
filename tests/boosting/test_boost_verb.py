"""`tundish boost` and `tundish run --boost` on small scripts, and what they refuse."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import tundish

SCRIPT = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images, labels = torch.rand(96, 3, 16, 16), torch.randint(0, 4, (96,))
loader = DataLoader(TensorDataset(images, labels), 8, shuffle=True)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
for epoch in range(int(sys.argv[1])):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
print("trained")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("boost")
    (made / "train.py").write_text(SCRIPT)
    (made / "last.pt").write_bytes(b"the user's checkpoint")
    return made


def tundish_verb(*argv, cwd, **more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "tundish", *map(str, argv)]
    return subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, env=environment, check=False, **more
    )


@pytest.fixture(scope="module")
def searched(folder):
    """The verb on the script. --select leaves one change to try."""
    done = tundish_verb(
        *("boost", "--minutes", "3", "--select", "channels_last,fused", "--html", "boost.html"),
        *("--json", "--", sys.executable, "train.py", "500"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_json_is_all_that_is_on_stdout_and_equals_the_file(searched, folder):
    saved = json.loads((folder / "boost.json").read_text())
    assert saved == searched
    assert {row["title"] for row in searched["rows"]} >= {"channels_last", "fused optimizer"}
    assert all(row["proof"]["passed"] for row in searched["rows"] if row["proof"])
    assert searched["baseline"]["samples"] == 8
    assert "boost.html" in os.listdir(folder)


def test_the_scripts_files_are_those_of_before(searched, folder):
    assert (folder / "last.pt").read_bytes() == b"the user's checkpoint"
    made = {"boost.html", "boost.json"} | ({"boost.patch"} if searched["changes"] else set())
    assert set(os.listdir(folder)) == {"last.pt", "train.py", *made}


def result(searched, **more):
    changes = [{"name": "channels_last", "value": ""}, {"name": "fused", "value": ""}]
    return {**searched, "changes": changes, **more}


def test_run_trains_with_the_changes_and_saves_plain_checkpoints(searched, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "boost.json").write_text(json.dumps(result(searched)))
    done = tundish_verb(
        "run", "--boost", "boost.json", "--", sys.executable, "train.py", "1", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    assert done.stderr == "tundish: boost: active: channels_last, fused\n"
    saved = torch.load(tmp_path / "last.pt")
    weight = saved["model"]["0.weight"]
    model = torch.nn.Conv2d(3, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    assert saved["optimizer"]["param_groups"][0]["fused"] == optimizer.param_groups[0]["fused"]
    assert weight.shape == model.weight.shape


def test_run_refuses_a_changed_script_and_files_that_are_no_result(searched, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT + "\n# edited\n")
    (tmp_path / "boost.json").write_text(json.dumps(result(searched)))
    command = ["--", sys.executable, "train.py", "1"]
    done = tundish_verb("run", "--boost", "boost.json", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert "train.py has changed since the search\n  fix: search again" in done.stderr
    for text in ("", "[]", '{"format": 1}', json.dumps({**searched, "format": 9})):
        (tmp_path / "bad.json").write_text(text)
        done = tundish_verb("run", "--boost", "bad.json", *command, cwd=tmp_path)
        assert done.returncode == 2, text
        assert "fix: " in done.stderr or "cannot be read" in done.stderr
    done = tundish_verb("run", "--boost", "no.json", *command, cwd=tmp_path)
    assert done.returncode == 1
    assert "no such file" in done.stderr


def test_a_model_that_is_not_the_searched_one_trains_unchanged_and_is_named(searched, tmp_path):
    changed = SCRIPT.replace("nn.Linear(8 * 14 * 14, 4)", "nn.Linear(8 * 14 * 14, 5)")
    (tmp_path / "train.py").write_text(changed)
    (tmp_path / "boost.json").write_text(json.dumps(result(searched, digest="")))
    done = tundish_verb(
        "run", "--boost", "boost.json", "--", sys.executable, "train.py", "1", cwd=tmp_path
    )
    assert done.returncode == 0
    assert "was not found: the script has changed" in done.stderr


def test_the_function_makes_the_changes_from_the_script(searched, tmp_path):
    (tmp_path / "train.py").write_text(f"import tundish\ntundish.boost('b.json')\n{SCRIPT}")
    (tmp_path / "b.json").write_text(json.dumps(result(searched)))
    done = subprocess.run(
        [sys.executable, "train.py", "1"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "tundish: boost: active: channels_last, fused\n"


def test_the_function_refuses_a_file_that_is_no_result(tmp_path):
    with pytest.raises(tundish.MissingError, match="tundish boost -o"):
        tundish.boost(tmp_path / "no.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(tundish.ArgumentError, match="not a result of tundish boost"):
        tundish.boost(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "objects",
    [
        {"models": [1]},
        {"models": [{"name": "a"}]},
        {"optimizers": 3},
        {"loader": {"x": 1}},
        {"loader": "a"},
    ],
)
def test_objects_of_another_form_are_refused(tmp_path, objects):
    values = {"format": 1, "changes": [], "script": "", "digest": "", "gain": 1.0}
    (tmp_path / "bad.json").write_text(json.dumps({**values, "objects": objects}))
    with pytest.raises(tundish.ArgumentError, match="not a result of tundish boost: objects"):
        tundish.boost(tmp_path / "bad.json")


def test_a_damaged_result_does_not_end_a_script(tmp_path):
    (tmp_path / "train.py").write_text("print('trained')")
    (tmp_path / "bad.json").write_text("{")
    start = Path(tundish.__file__).parent / "_process" / "start"
    variables = {
        **os.environ,
        "PYTHONPATH": str(start),
        "TUNDISH_BOOST": str(tmp_path / "bad.json"),
    }
    words = [sys.executable, "train.py"]
    done = subprocess.run(
        words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout == "trained\n"
    assert done.stderr.startswith("tundish: the script runs without the changes of a boost: JSON")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import torch\nraise KeyError('no such option')", "KeyError: 'no such option'"),
        ("import torch\nname = input()", "standard input, which is empty here"),
        ("import torch\nprint('nothing to train')", "no training loop was found"),
        ("print('no torch')", "no Python process imported PyTorch"),
    ],
)
def test_scripts_that_cannot_be_measured_are_explained(tmp_path, code, text):
    (tmp_path / "train.py").write_text(code)
    done = tundish_verb("boost", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert text in done.stderr
    assert os.listdir(tmp_path) == ["train.py"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], "the command is missing"),
        (["--select", "chanels_last", "--", "python", "a.py"], "did you mean channels_last?"),
        (["-o", "train.py", "--", "python", "train.py"], "exists already"),
        (["-o", "no/boost.json", "--", "python", "train.py"], "no file can be made"),
        (["--minutes", "0", "--", "python", "train.py"], "--minutes"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(folder, argv, text):
    done = tundish_verb("boost", *argv, cwd=folder)
    assert done.returncode == 2
    assert text in done.stderr
