"""Checks many files of one format: python -m tests.siege.originals.run FORMAT FIRST COUNT FOLDER

Prints a JSON line per file: its seed, the documented refusals, and the difference if there is one.
A line with the seed alone comes first, so that the file is known if the process dies.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.siege.originals.compare import Difference, check


def check_seed(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """Creates the file of a seed and compares it. The folder is kept only after a difference."""
    make = importlib.import_module(f"tests.siege.originals.{name}_files").make
    unwritten = 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            case = make(random.Random(f"{name}-{seed}-{unwritten}"), folder)
            break
        except Exception:  # the original library cannot write or read this file: draw another
            unwritten += 1
            if unwritten == 20:
                raise
    try:
        met = check(case)
    except Difference as difference:
        return {"difference": str(difference), "about": case.about}
    except Exception:
        return {"difference": traceback.format_exc()[-1500:], "about": case.about}
    shutil.rmtree(folder)
    return {"refusals": met, "unwritten": unwritten}


def main() -> int:
    name, first, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), flush=True)
        print(json.dumps(check_seed(name, seed, folder / f"{name}-{seed}")), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
