"""Runs benchmarks, and checks that their rows record their origin."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.common.result_files import read_rows
from tests.helpers.warm_python import run_warm

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "tundish"

needs_build = pytest.mark.skipif(not PROGRAM.exists(), reason="./dev build makes the program")

KEYS = {"bench", "contestant", "metric", "value", "unit", "runs", "spread"}
KEYS |= {"machine", "versions", "commit", "command"}


# Benchmarks whose contestants import torch. The others start programs from PYTHONPATH or time imports.
WARM = ("augment", "load")


def bench(name, samples, tmp_path, *words):
    """Runs a benchmark. Returns its rows and its output."""
    out = tmp_path / f"{name}.json"
    line = ["-m", f"bench.{name}.run", "--data", samples, "--out", out]
    line += ["--work", tmp_path / "work", *words]
    if name in WARM:
        done = run_warm(*line, cwd=ROOT, nested=True)
    else:
        line = [sys.executable, *map(str, line)]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return read_rows(out), done.stdout


def check_rows(rows, name):
    assert rows
    for row in rows:
        assert set(row) >= KEYS, row
        assert row["bench"] == name
        assert row["command"].startswith(f"./dev bench {name}")
        assert set(row["machine"]) >= {"cpu", "cores", "memory_gb"}
        if name != "resize":
            assert row["data"].startswith("24 images")
            assert row["data_name"].partition(", re-encoded ")[0] == "images"
            assert re.fullmatch("[0-9a-f]{16}", row["data_digest"])
            assert "/" not in row["command"].removeprefix("./dev")
        assert set(row["versions"]) >= {"tundish", "python", "numpy"}
        assert (row["value"] is None) == (row["runs"] == 0) == ("reason" in row)
        # A stage is the difference of two times, so noise may make a short stage negative.
        stage = row["metric"].startswith("stage: ")
        assert row["value"] is None or row["value"] > 0 or stage, row
