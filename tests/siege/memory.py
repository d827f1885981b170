"""Does a loader keep its memory budget? Runs random loaders in processes with the kernel's peak.

First, --runs loaders must stay at most 64 MiB above their budget in resident memory. Then,
--limited loaders run in fresh processes under a hard limit of the budget and 256 MiB, interpreter
included; no process may be killed. The limit belongs to a control group where possible (or the
group given by --cgroup), otherwise to the address space (RLIMIT_AS). A run that violates the budget
is printed completely, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.helpers.memory_runs import MIB, Children, execute_alone, fault_of, make_data, random_run

LIMITS = ("memory.max", "memory.limit_in_bytes")  # cgroup version 2 and 1


class Group:
    """A control group with a memory limit for one run."""

    def __init__(self, parent: Path, limit: int) -> None:
        self._folder = parent / f"tundish-siege-{os.getpid()}"
        self._folder.mkdir()
        try:
            (name,) = [name for name in LIMITS if (self._folder / name).exists()]
            (self._folder / name).write_text(str(limit))
        except (OSError, ValueError):
            self._folder.rmdir()
            raise

    def enter(self) -> None:
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        for _ in range(100):  # the last process may still be exiting
            try:
                self._folder.rmdir()
                return
            except OSError:
                time.sleep(0.05)
        self._folder.rmdir()


def parent_of_groups() -> Path | None:
    """Returns the folder in which this user can create groups with a memory limit."""
    for folder in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")):
        try:
            Group(folder, 1 << 40).remove()
            return folder
        except (OSError, ValueError):
            continue
    return None


def limited(run: dict, parent: Path | None) -> dict:
    if parent is None:
        return execute_alone({**run, "limit_address_space": True})
    group = Group(parent, run["memory"] + 256 * MIB)
    try:
        return execute_alone(run, preexec_fn=group.enter)
    finally:
        group.remove()


class Tally:
    def __init__(self, name: str, runs: int) -> None:
        self._name, self._runs = name, runs
        self._done = self._delivered = self._refused = self._bad = self._hits = 0
        self.faults = 0
        self._worst = -(1 << 60)

    def add(self, run: dict, result: dict) -> None:
        self._done += 1
        self._delivered += result.get("images", 0) > 0
        self._refused += bool(result.get("refused"))
        self._bad += bool(result.get("bad"))
        self._hits += result.get("hits", 0) > 0
        self._worst = max(self._worst, result.get("grown", 0) - run["memory"])
        fault = fault_of(run, result)
        if fault:
            self.faults += 1
            print(json.dumps({"fault": fault, "run": run, "result": result}), flush=True)
        if self._done % 50 == 0:
            print(f"siege: {self._name}: {self._done} of {self._runs}", file=sys.stderr, flush=True)

    def text(self) -> str:
        return (
            f"{self._name}: {self._done} runs, {self.faults} faults; {self._delivered} delivered images "
            f"({self._hits} of them also from a cache), {self._bad} met images that could not fit, "
            f"{self._refused} were refused; the worst was {self._worst / MIB:+.1f} MiB from its budget (allowed: +64)"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev siege memory", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--limited", type=int, default=200)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first run")
    parser.add_argument("--cgroup", type=Path, help="make groups for the hard limits in this one")
    options = parser.parse_args()
    parent = options.cgroup or parent_of_groups()
    how = f"a control group in {parent}" if parent else "RLIMIT_AS"
    plain = Tally("resident memory", options.runs)
    hard = Tally(f"hard limit ({how})", options.limited)
    with tempfile.TemporaryDirectory(prefix="tundish-siege-") as folder, Children() as children:
        data = make_data(Path(folder))
        for number in range(options.runs):
            run = random_run(options.first + number, data)
            plain.add(run, children.execute(run))
        for number in range(options.limited):
            run = random_run(options.first + options.runs + number, data)
            hard.add(run, limited(run, parent))
    for tally in (plain, hard):
        print(tally.text())
    return 1 if plain.faults + hard.faults else 0


if __name__ == "__main__":
    sys.exit(main())
