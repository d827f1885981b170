"""Runs fuzz targets until each has reached a number of executions, over as many sessions as needed.

    python3 tools/dev/fuzz_campaign.py --until 10000000 [--minutes 90] [NAME...]   (./dev fuzz --until)
    python3 tools/dev/fuzz_campaign.py                                            (./dev fuzz --counts)

fuzz/executions.json stores the counts. A count is valid for one state of the code. It restarts at 0 when
a target, a header in fuzz/ that it includes, or a file of its parser changes. The lines "// parser:" at
the top of fuzz/NAME.cpp name the files of the parser.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LEDGER = Path("fuzz/executions.json")
SLICE = 120  # seconds of a run; a campaign that is killed loses at most this much

Entry = dict[str, Any]


def parser_files(root: Path, name: str) -> list[Path]:
    """Returns the files whose changes restart the count of a target. Omits tests and notes."""
    target = root / "fuzz" / f"{name}.cpp"
    text = target.read_text()
    files = {target}
    files |= {root / "fuzz" / used for used in re.findall(r'#include "([^"/]+)"', text)}
    for line in re.findall(r"^// parser: (.*)$", text, re.MULTILINE):
        for pattern in line.split():
            found = set(root.glob(pattern))
            if not found:
                raise SystemExit(f"fuzz/{name}.cpp: no file is called {pattern}")
            files |= found
    return sorted(f for f in files if f.suffix in {".h", ".cpp"} and not f.stem.endswith("_test"))


_NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^\s*\#\s*(?:include|pragma)[^\n]*|("(?:\\.|[^"\\\n])*")""",
    re.MULTILINE | re.DOTALL,
)


def code_of(text: str) -> str:
    """Removes comments, includes and layout from C++ code, because they do not affect executions."""
    return " ".join(_NOT_CODE.sub(lambda match: match[1] or " ", text).split())


def state_of(root: Path, name: str) -> str:
    """Returns a digest of the parser's code. Moving files or editing comments does not change it."""
    files = [file for file in parser_files(root, name) if file.is_file()]
    digest = hashlib.sha256()
    for code in sorted(f"{file.name}\0{code_of(file.read_text())}\0" for file in files):
        digest.update(code.encode())
    return digest.hexdigest()[:16]


def read_ledger(root: Path) -> dict[str, Entry]:
    path = root / LEDGER
    return json.loads(path.read_text()) if path.is_file() else {}


def entry_of(ledger: dict[str, Entry], name: str, state: str) -> Entry:
    """Returns the entry of a target for this state. Returns a new entry if the code has changed."""
    kept = ledger.get(name, {})
    if kept.get("state") == state:
        return kept
    return {
        "state": state,
        "executions": 0,
        "cpu_seconds": 0,
        "last_new_edge": 0,
        "commits": [],
        "options": [],
        "findings": [],
    }


def read_log(text: str) -> tuple[int, int]:
    """Returns the number of executions in a libFuzzer run, and which execution last found a new edge.

    The second value is 0 if no execution found a new edge.
    """
    executed = re.findall(r"^stat::number_of_executed_units: *(\d+)", text, re.MULTILINE)
    most, at = None, 0
    for number, kind, edges in re.findall(r"^#(\d+)\s+(\w+)\s+cov: (\d+)", text, re.MULTILINE):
        if kind == "INITED":
            most, at = int(edges), 0
        elif most is not None and int(edges) > most:
            most, at = int(edges), int(number)
    return int(executed[-1]) if executed else 0, at


def add_run(entry: Entry, log: str, seconds: float, commit: str, options: list[str]) -> None:
    executions, edge = read_log(log)
    if edge:
        entry["last_new_edge"] = entry["executions"] + edge
    entry["executions"] += executions
    entry["cpu_seconds"] = round(entry["cpu_seconds"] + seconds, 1)
    entry["options"] = options
    if commit not in entry["commits"]:
        entry["commits"].append(commit)


def save(root: Path, name: str, entry: Entry) -> None:
    ledger = read_ledger(root) | {name: entry}  # read again, as another campaign may be running
    path = root / LEDGER
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(ledger, indent=1, sort_keys=True) + "\n")
    partial.replace(path)


def commit_of(root: Path) -> str:
    words = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.check_output(words, cwd=root, text=True).strip()


def run_slice(root: Path, name: str, entry: Entry, until: int, seconds: int) -> bool:
    """Runs a target for a while. Returns False if it found an error."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    runs = until - entry["executions"]
    done = subprocess.run(
        [root / "dev", "fuzz-one", name, str(seconds), str(runs)], cwd=root, check=False
    )
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
    log = (root / f"build/fuzz/log/{name}.log").read_text(errors="replace")
    options = root / "fuzz" / f"{name}.options"
    add_run(
        entry, log, used, commit_of(root), options.read_text().split() if options.is_file() else []
    )
    if done.returncode != 0:
        found = (root / "build/fuzz/findings").glob(f"{name}-*")
        entry["findings"] = sorted(file.name for file in found)
    save(root, name, entry)
    return done.returncode == 0


def print_counts(root: Path, names: list[str]) -> None:
    ledger = read_ledger(root)
    print(f"{'target':<16} {'executions':>12} {'per CPU s':>10} {'last new edge':>14}")
    for name in names:
        entry = entry_of(ledger, name, state_of(root, name))
        rate = entry["executions"] / entry["cpu_seconds"] if entry["cpu_seconds"] else 0
        found = f"  {len(entry['findings'])} FINDINGS" if entry["findings"] else ""
        print(
            f"{name:<16} {entry['executions']:>12,} {rate:>10,.0f} "
            f"{entry['last_new_edge']:>14,}{found}"
        )


def campaign(root: Path, names: list[str], until: int, minutes: float) -> int:
    """Fuzzes the targets one by one, in this order. Returns exit status 1 if a target found an error."""
    end = time.monotonic() + 60 * minutes
    status = 0
    for name in names:
        entry = entry_of(read_ledger(root), name, state_of(root, name))
        while entry["executions"] < until and (left := end - time.monotonic()) >= 1:
            if not run_slice(root, name, entry, until, int(min(SLICE, left))):
                status = 1
                break
    print_counts(root, names)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--until", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    arguments = parser.parse_args()
    names = arguments.names or sorted(file.stem for file in (ROOT / "fuzz").glob("*.cpp"))
    if arguments.until:
        return campaign(ROOT, names, arguments.until, arguments.minutes)
    print_counts(ROOT, names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
