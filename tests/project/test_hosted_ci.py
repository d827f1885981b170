"""The files for hosted CI and for pre-commit call commands that ./dev has."""

import re

import pytest

from tests.helpers.program import ROOT

FILES = [".github/workflows/ci.yml", ".pre-commit-config.yaml"]
COMMAND = re.compile(r"(?:run|entry): \./dev (\w+)")


def listed():
    """Returns the commands in the usage text of ./dev."""
    usage = (ROOT / "dev").read_text().split("usage() {")[1].split("END\n}")[0]
    return set(re.findall(r"^  (\w+) ", usage, re.MULTILINE))


@pytest.mark.parametrize("name", FILES)
def test_commands_exist(name):
    called = COMMAND.findall((ROOT / name).read_text())
    assert called
    assert set(called) <= listed()


def test_an_unknown_command_would_be_found():
    assert COMMAND.findall("      - run: ./dev tset\n") == ["tset"]
    assert "tset" not in listed()
    assert {"test", "lint", "demo"} <= listed()
