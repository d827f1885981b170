"""Runs `tundish doctor` on a small training loop, for tools/paths/record.py."""

from __future__ import annotations

import sys
from pathlib import Path

import python_stacks
from tundish.diagnosis.cli.doctor_verb import main

if __name__ == "__main__":
    python_stacks.record()
    script = str(Path(__file__).with_name("slow_training.py"))
    sys.exit(main(["--steps", "20", "--", sys.executable, script]))
