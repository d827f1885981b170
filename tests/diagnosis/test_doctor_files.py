"""The files that `tundish doctor` reads, and the files that it reports as written."""

import json
import os
import subprocess
import sys

import pytest
from tundish.diagnosis.cli.doctor_verb import main
from tundish.diagnosis.report.report_file import report_text
from tundish.diagnosis.timeline.merge import write_timeline
from tundish.diagnosis.verdict.static_findings import script_findings
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers.written_facts import facts, step

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
RUN = [
    "--steps",
    "5",
    "--no-layers",
    "--no-cached-batches",
    "-q",
    "-o",
    "out.json",
    "--",
    sys.executable,
]


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
def test_requested_files_are_written_or_get_a_note(package, capfd, text):
    (package / "a.py").write_text(text)
    asked = ["--timeline", "t.json", "--memory-lines", "--table", "advanced", "--html", "r.html"]
    assert main([*asked, "--", sys.executable, "a.py"]) == 0
    error = capfd.readouterr().err
    for words in (
        "no timeline was written",
        "the memory of a step is missing",
        "table of functions is missing",
    ):
        assert error.count(f"{words}: the script ended before a step was recorded") == 1
    assert not os.path.exists("t.json")
    assert "  written: r.json, r.html\n" in error


def test_the_module_of_a_command_that_never_steps_is_checked(package):
    for loop in ([], [os.path.realpath("inner/loop.py")]):
        found = script_findings(["python", "-m", "inner.loop"], loop)
        assert [(one["file"], one["line"]) for one in found] == [("inner/loop.py", 11)]
    assert script_findings(["python", "-m", "json.tool"], []) == []


def test_output_paths_are_tested_before_the_run_without_side_effects(package):
    (package / "old.json").write_text("old")
    (package / "r.json").mkdir()
    words = ["--", "/no/such/program"]
    assert main(["-f", "-o", "old.json", "--timeline", "new.json", *words]) == 127
    assert (package / "old.json").read_text() == "old"
    assert not (package / "new.json").exists()
    assert main(["--html", "r.html", *words]) == 2, "its JSON has the name of a folder"


@pytest.mark.parametrize("option", ["--output", "--html", "--timeline"])
def test_a_file_that_exists_is_replaced_with_force_only(package, capfd, option):
    name = "old.html" if option == "--html" else "old.json"
    (package / "old.json").write_text("old")
    words = [option, name, "--", "/no/such/program"]
    assert main(words) == 2
    error = f"{option} old.json: exists already\n  fix: use another name, or replace it: --force"
    assert error in capfd.readouterr().err
    assert main(["--force", *words]) == 127
    assert (package / "old.json").read_text() == "old"


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_failed_write_does_not_lose_the_verdict(package, capfd, quiet):
    (package / "away").mkdir()
    (package / "a.py").write_text("import os; os.rmdir('away'); print('the script')")
    files = ["-o", "away/out.json", "--html", "r.html"]
    assert main([*files, *quiet, "--", sys.executable, "a.py"]) == 1
    out, error = capfd.readouterr()
    assert out == "the script\n"
    assert error.index("No verdict: ") < error.index("tundish: away/out.json: No such file")
    assert "  written: r.json, r.html\n" in error


def test_a_timeline_that_could_not_be_written_is_not_offered(tmp_path):
    verdict = judge(facts([step()] * 20))
    (tmp_path / "1.timeline").write_text("{}")
    verdict.timeline = write_timeline(str(tmp_path), str(tmp_path / "t.json"))
    for text in (str(verdict), report_text("r.html", verdict.as_json())):
        assert "the timeline could not be written" in text
        assert "ui.perfetto.dev" not in text


def test_a_script_in_a_folder_with_a_name_that_is_not_utf8_gets_a_page(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/train.py", "w") as file:
        file.write("print('trained')")
    words = ["doctor", "--html", "r.html", "--", sys.executable, folder + b"/train.py"]
    result = subprocess.run(
        [sys.executable, "-m", "tundish", *words], cwd=tmp_path, capture_output=True
    )
    assert (result.returncode, result.stdout) == (0, b"trained\n"), result.stderr
    assert b"Traceback" not in result.stderr
    assert "caf?/train.py" in (tmp_path / "r.html").read_text()


def test_a_script_that_removes_its_folder_is_judged(tmp_path):
    (tmp_path / "train.py").write_text("import os; os.rmdir(os.getcwd()); raise SystemExit(7)")
    folder = tmp_path / "work"
    folder.mkdir()
    words = ["doctor", "--", sys.executable, tmp_path / "train.py"]
    result = subprocess.run(
        [sys.executable, "-m", "tundish", *words], cwd=folder, capture_output=True, text=True
    )
    assert result.returncode == 7
    assert "No verdict" in result.stderr
    assert "exit code 7" in result.stderr
