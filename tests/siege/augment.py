"""Random lists of transforms: does every way to a batch give the same bytes?

Compares threads, ranks, resuming, replaying and T.apply for each of --lists lists. The first
difference ends the siege. Its JSON is printed with a command that reproduces it, and the exit code
is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.helpers.list_checks import Difference, check_list, make_set
from tests.siege.progress import Progress

STEP = 50  # lists between two progress lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev siege augment", description=__doc__)
    parser.add_argument("--lists", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first list (0)")
    options = parser.parse_args()
    progress = Progress(options.lists, "lists")
    with tempfile.TemporaryDirectory(prefix="tundish-siege-") as folder:
        pack = make_set(Path(folder) / "set")
        for done in range(options.lists):
            number = options.seed + done
            try:
                check_list(pack, number)
            except Difference as difference:
                progress.end()
                print(f"DIFFERS: {difference}")
                print(f"to repeat it: ./dev siege augment --seed {number} --lists 1")
                return 1
            if (done + 1) % STEP == 0 or done + 1 == options.lists:
                progress.step((done % STEP) + 1, f"seed {number}")
    progress.end()
    print(f"{options.lists:,} lists from seed {options.seed}: no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
