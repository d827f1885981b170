"""Verbs written in Python, started by the program: arguments, exit codes, a missing Python."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.program import PROGRAM, ROOT, err, needs_program, out, tundish

pytestmark = needs_program


def python_verbs():
    """Returns the rows of the program's table that have no C++ function."""
    table = (ROOT / "src/cli/main.cpp").read_text()
    return re.findall(r'Verb\{"\w+", "(\w+)",[^}]*nullptr\}', table)


def test_the_package_has_every_verb_that_the_program_sends_to_it():
    from tundish.__main__ import _VERBS

    assert python_verbs()
    assert set(python_verbs()) == set(_VERBS) - {"demo-page"}


def test_arguments_and_the_exit_code_are_passed_through(tmp_path):
    result = tundish("tune", "no.py:build", "--select", "with space", "--json", cwd=tmp_path)
    assert result.returncode == 2
    assert "unknown trick 'with space'" in json.loads(result.stdout)["error"]["message"]
    assert "tundish: unknown trick" in err(result)


def test_the_verb_explains_invalid_arguments(tmp_path):
    result = tundish("tune", "--quik", cwd=tmp_path)
    assert result.returncode == 2
    assert out(result) == ""
    assert "did you mean --quick?" in err(result)


@pytest.mark.parametrize("words", [["tune", "train.py:build"], ["help", "tune"]])
def test_without_python_the_message_says_how_to_get_it(words, tmp_path):
    shutil.copy(PROGRAM, tmp_path / "tundish")
    alone = {"PATH": "", "HOME": str(tmp_path)}
    result = subprocess.run(["./tundish", *words], capture_output=True, cwd=tmp_path, env=alone)
    assert result.returncode == 1
    assert err(result) == (
        "tundish: tune is written in Python, and no Python here can import tundish\n"
        "  fix: pip install tundish torch, and run the program of that environment\n"
    )


def test_env_finds_the_torch_of_a_folder_with_an_equals_sign(tmp_path):
    environment = tmp_path / "a=b"
    (environment / "bin").mkdir(parents=True)
    prefix = Path(sys.prefix)
    (environment / "pyvenv.cfg").write_bytes((prefix / "pyvenv.cfg").read_bytes())
    (environment / "lib").symlink_to(prefix / "lib")
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "bin" / "tundish").symlink_to(PROGRAM)
    words = [environment / "bin" / "tundish", "env", "--json"]
    found = json.loads(subprocess.run(words, capture_output=True).stdout)["findings"]
    torch = next(one for one in found if one["name"] == "torch")
    assert "no Python" not in torch["figure"]
