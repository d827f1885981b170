"""The library of the write guard: what it needs, how trials get it, and the check before trials."""

import ctypes
import re
import shutil
import subprocess
import sys

import pytest
from tundish._c.errors import MissingError
from tundish.boosting.trials import write_guard
from tundish.boosting.trials.write_guard import GuardError, check_guard, guard_library, python_of

from tests.helpers.program import ROOT


def test_the_library_needs_only_the_c_library_and_hides_its_own_names():
    library = ctypes.CDLL(guard_library())
    assert library.open64
    text = subprocess.run(["readelf", "-d", guard_library()], capture_output=True, text=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", text))
    assert needed
    assert needed <= {"libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2"}
    text = subprocess.run(["nm", "-D", guard_library()], capture_output=True, text=True).stdout
    names = re.findall(r" [TDBVW] (\w+)", text)
    assert "open" in names
    assert not [name for name in names if name.startswith("_Z") or "guard" in name]


def test_the_check_accepts_this_python_and_refuses_one_without_the_guard(tmp_path):
    check_guard(python_of(["python3", "train.py"]), tmp_path)
    check_guard([sys.executable], tmp_path)
    without = tmp_path / "python-static"
    without.write_text(
        f'#!/bin/sh\nexec env -u LD_PRELOAD -u {write_guard.FOLDER} {sys.executable} "$@"\n'
    )
    without.chmod(0o755)
    source = tmp_path / "static.c"
    source.write_text(
        '#include <stdio.h>\nint main(int n, char** a) { fputs("x", fopen(a[n - 1], "w")); }'
    )
    if (
        shutil.which("cc")
        and not subprocess.run(
            ["cc", "-static", "-o", without, source], capture_output=True
        ).returncode
    ):
        with pytest.raises(GuardError, match="ignores the write guard"):
            check_guard([str(without)], tmp_path)
    with pytest.raises(GuardError, match="does not work under the write guard"):
        check_guard(["/bin/false"], tmp_path)
    with pytest.raises(GuardError, match="could not be tried"):
        check_guard([str(tmp_path / "missing")], tmp_path)


def test_the_python_of_a_command_is_found(tmp_path):
    script = tmp_path / "torchrun"
    script.write_text(f"#!{sys.executable}\nprint(1)\n")
    assert python_of([str(script), "train.py"]) == [sys.executable]
    script.write_text("#!/usr/bin/env python3\n")
    assert python_of([str(script)]) == [shutil.which("python3")]
    assert python_of(["/bin/sh", "run.sh"]) == [sys.executable]


def test_a_missing_library_is_an_error_with_a_fix(monkeypatch):
    monkeypatch.setattr(write_guard, "__file__", "/nowhere/boosting/trials/write_guard.py")
    with pytest.raises(MissingError, match=r"fix: run \./dev build"):
        guard_library()


def test_paths_that_variables_cannot_hold_are_avoided(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    monkeypatch.setenv("LD_PRELOAD", "/other.so")
    variables = write_guard.guard_variables(tmp_path, deep)
    assert len(variables["TMPDIR"]) < 40
    assert variables["TMPDIR"] in variables[write_guard.ALLOW].split(":")
    assert variables["LD_PRELOAD"] == f"{guard_library()}:/other.so"
    colon = tmp_path / "a:b"
    colon.mkdir()
    with pytest.raises(GuardError, match="colon"):
        write_guard.guard_variables(tmp_path, colon)


def test_the_files_of_the_guard_are_described():
    text = (ROOT / "src" / "tools" / "write_guard" / "README.md").read_text()
    for name in (write_guard.FOLDER, write_guard.ALLOW):
        assert name in text
