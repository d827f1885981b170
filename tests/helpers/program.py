"""Runs the program `tundish` in tests and parses its output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "tundish"
UNIT_TESTS = ROOT / "build" / "release" / "unit_tests"
VERBS = [
    "doctor",
    "check",
    "env",
    "top",
    "boost",
    "tune",
    "run",
    "pack",
    "convert",
    "unpack",
    "info",
    "verify",
    "view",
    "split",
    "merge",
    "diff",
    "bench",
    "demo",
    "explain",
]
ERROR_KEYS = {"code", "message", "title", "file", "record", "key", "offset", "reason", "exit"}

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="./dev build makes the program")


def tundish(*words, **options):
    options.setdefault("capture_output", True)
    return subprocess.run([PROGRAM, *map(os.fspath, words)], timeout=120, **options)


def out(result):
    return result.stdout.decode()


def err(result):
    return result.stderr.decode()


def result_json(*words, exit_code=0):
    result = tundish(*words, "--json")
    assert result.returncode == exit_code, err(result)
    return json.loads(result.stdout)


def error_of(*words, exit_code):
    """Returns the error as JSON. Checks that stderr has the same error as text."""
    result = tundish(*words, "--json")
    assert result.returncode == exit_code, (out(result), err(result))
    error = json.loads(result.stdout)["error"]
    assert set(error) >= ERROR_KEYS
    assert error["exit"] == exit_code
    assert err(result).strip().endswith(error["message"])
    assert "fix: " in error["message"]
    return error


def documented_keys(verb, mode=None):
    """Returns the JSON keys that the help of a command documents, for a mode such as "--stats"."""
    text = out(tundish("help", verb))
    words = f"with {mode} --json" if mode else "with --json:\n"
    keys = re.search(rf"{words}.*?\{{(.*?)\}}", text, re.S)[1]
    return set(re.findall(r"[a-z_0-9]+", keys))
