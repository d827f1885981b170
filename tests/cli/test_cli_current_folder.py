"""Python files in the current folder are data: no verb imports them."""

import json
import subprocess
import sys

import pytest
from tundish.child_python import child_command

from tests.helpers.program import VERBS, err, needs_program, out, tundish

SHADOWS = [
    "argparse",
    "ast",
    "bisect",
    "collections",
    "contextlib",
    "ctypes",
    "dataclasses",
    "encodings",
    "enum",
    "functools",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "multiprocessing",
    "numpy",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "queue",
    "re",
    "runpy",
    "select",
    "shutil",
    "signal",
    "site",
    "sitecustomize",
    "socket",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tokenize",
    "torch",
    "traceback",
    "tundish",
    "types",
    "typing",
    "usercustomize",
    "uuid",
    "warnings",
    "weakref",
]
SCRIPT = """
import helper_beside_script, sys
print("helper", helper_beside_script.VALUE, sys.argv[1:])
"""
JOB = """
import torch
from helper_beside_script import VALUE
def build():
    model = torch.nn.Linear(4, VALUE - 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, torch.nn.functional.mse_loss, (torch.ones(8, 4), torch.ones(8, 2))
"""


@pytest.fixture
def hostile(tmp_path):
    """A folder whose modules record that they were imported, beside a folder with a script."""
    folder, scripts = tmp_path / "here", tmp_path / "scripts"
    folder.mkdir()
    scripts.mkdir()
    for name in SHADOWS:
        note = f"open({str(tmp_path / 'ran')!r}, 'a').write({name + chr(10)!r})\n"
        (folder / f"{name}.py").write_text(note + "raise ImportError('from the current folder')\n")
    (scripts / "helper_beside_script.py").write_text("VALUE = 7\n")
    (scripts / "train.py").write_text(SCRIPT)
    (scripts / "job.py").write_text(JOB)
    return folder


def ran(folder):
    note = folder.parent / "ran"
    return note.read_text().split() if note.exists() else []


@needs_program
@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_imports_nothing_of_the_folder(verb, hostile):
    result = tundish(verb, "--help", cwd=hostile)
    assert result.returncode == 0, err(result)
    assert f"tundish {verb}" in out(result)
    assert ran(hostile) == []


@needs_program
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["check", "."], ""),
        (["doctor", "--", sys.executable, "../scripts/train.py", "x"], "helper 7 ['x']"),
        (["run", "--ranks", "1", "../scripts/train.py", "x"], "helper 7 ['x']"),
        (["doctor", "compare", "no.json", "no.json"], ""),
        (["env", "--json"], '"findings"'),
    ],
)
def test_verbs_at_work_import_nothing_of_the_folder(words, printed, hostile):
    result = tundish(*words, cwd=hostile)
    assert printed in out(result), err(result)
    assert "current folder" not in err(result)
    assert ran(hostile) == []


@needs_program
def test_trials_of_the_tuner_import_nothing_of_the_folder(hostile):
    words = ["tune", "../scripts/job.py:build", "--quick", "--select", "channels_last", "--json"]
    result = tundish(*words, "-o", hostile.parent / "plan.json", cwd=hostile)
    assert result.returncode == 0, err(result)
    assert json.loads(result.stdout)
    assert ran(hostile) == []


@needs_program
def test_a_module_that_the_command_names_is_still_found_in_the_folder(hostile):
    for file in hostile.iterdir():
        file.unlink()
    (hostile / "package_here.py").write_text("print('package', __name__)\n")
    for words in (["doctor", "--", sys.executable, "-m"], ["run", "--ranks", "1", "-m"]):
        result = tundish(*words, "package_here", cwd=hostile)
        assert "package __main__" in out(result), err(result)


@pytest.mark.parametrize("options", [["-P"], []])
def test_a_child_has_the_path_of_its_parent_and_imports_nothing_before(options, hostile):
    """Without -P, as Python 3.10 starts a child."""
    code = "print(sys.path == eval(sys.argv[1]), sys.argv[2:])"
    command = [word for word in child_command(code) if word != "-P"]
    command[1:1] = options
    words = [*command, repr(sys.path), "more"]
    result = subprocess.run(words, cwd=hostile, capture_output=True, text=True)
    assert result.stdout == "True ['more']\n", result.stderr
    assert ran(hostile) == []
