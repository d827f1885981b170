"""Which files `tundish doctor` looks at, and which it says that it wrote."""

import json
import os
import sys

import pytest
from tundish.diagnosis.doctor.cli import main
from tundish.diagnosis.doctor.static import findings_of

LOOP = """import torch
def train():
    model = torch.nn.Linear(4, 2)
    losses = []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in torch.utils.data.DataLoader([(torch.ones(4), 1)] * 400, 4):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss)
if __name__ == "__main__":
    train()
"""
RUN = ["--steps", "5", "--no-layers", "--no-replay", "-q", "-o", "out.json", "--", sys.executable]


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "loop.py").write_text(LOOP)
    (tmp_path / "launch.py").write_text("from inner.loop import train; train()\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "script"),
    [(["-m", "inner.loop"], "inner/loop.py"), (["launch.py"], "launch.py")],
)
def test_the_text_of_the_file_that_the_loop_is_in_is_checked(package, capfd, words, script):
    assert main([*RUN, *words]) == 0, capfd.readouterr().err
    values = json.loads((package / "out.json").read_text())
    places = [(one["file"], one["line"], one["check"]) for one in values["findings"]]
    assert ("inner/loop.py", 11, "loss-kept") in places
    tune = [one["how"] for one in values["changes"] if one["how"].startswith("tundish tune")]
    assert all(how.startswith(f"tundish tune {script}:build,") for how in tune)


@pytest.mark.parametrize("text", ["print(1)", "import torch", LOOP.replace("* 400", "* 12")])
def test_what_was_asked_for_is_written_or_has_a_note(package, capfd, text):
    (package / "a.py").write_text(text)
    asked = ["--timeline", "t.json", "--memory", "--table", "advanced", "--report", "r.html"]
    assert main([*asked, "--", sys.executable, "a.py"]) == 0
    error = capfd.readouterr().err
    for words in (
        "no timeline was written",
        "the memory of a step is missing",
        "table of functions is missing",
    ):
        assert error.count(f"{words}: the script ended before a step was recorded for it") == 1
    assert not os.path.exists("t.json")
    assert "  written: r.json, r.html\n" in error


def test_the_module_of_a_command_that_never_steps_is_checked(package):
    for loop in ([], [os.path.realpath("inner/loop.py")]):
        found = findings_of(["python", "-m", "inner.loop"], loop)
        assert [(one["file"], one["line"]) for one in found] == [("inner/loop.py", 11)]
    assert findings_of(["python", "-m", "json.tool"], []) == []
