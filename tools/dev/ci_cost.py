"""What an area of the project costs each stage of ./dev test, in seconds of CPU.

    .venv/bin/python -m pytest -q -p tools.dev.cpu_times          # writes build/log/cpu_times.tsv
    python3 tools/dev/ci_cost.py augment --compile 8              # every 8th source is compiled, without the cache
    python3 tools/dev/ci_cost.py sources --compile 8

An area is what a range of commits added below some paths: files, and tests in files that were there before. CPU seconds
mean the same on a busy machine. The wall time of a run on two cores is at least half of their sum.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from read_the_rest import left_out

AREAS = {  # the commit before the first one, the last one, the paths, the paths of what came later
    "augment": (
        "66a26875",
        "eb0e6a66",
        r"src/|fuzz/|tests/(bench|cli|docs|loader|pixels|project)/",
        r"src/(cuda/)?augment/|tests/pixels/(?!test_(draft|image_formats))",
    ),
    "sources": (
        "3db7695c",
        "HEAD",
        r"src/(source/(?!disk_cache)|pack/|convert/|preprocess/|decode/|lanes/|core/(array|crc32c)|sample/arr|engine/arr|cuda/arr)|"
        r"src/cli/(pack/|hdf5|source_words|verbs/(convert|diff|merge|salvage|split|read_hdf5))|tests/(pack|cli)/|fuzz/(?!loader_page|disk_cache)|"
        r"tests/pixels/test_(draft|image_formats)|tests/loader/test_array_batches|tests/docs/test_format_pages",
        r"(?!)",
    ),
}
BUILDS = ("release", "asan", "tsan")
CORES = 2  # of the machine that runs ./dev test


def git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True).stdout.splitlines()


def added(since: str, until: str, paths: str) -> set[str]:
    files = git("diff", "-M", "--diff-filter=A", "--name-only", since, until)
    return {file for file in files if re.match(paths, file)}


def tests_at(commit: str) -> set[str]:
    """The names of all tests at a commit: functions of Python, cases of C++."""
    pattern = r"^ *(def test_\w+|TEST_CASE\(\".*\"\))"
    lines = git("grep", "-hoE", pattern, commit, "--", "src", "tests")
    return {re.sub(r'^ *(def |TEST_CASE\(")|"\)$', "", line) for line in lines}


class Area:
    def __init__(self, name: str) -> None:
        self.since, until, self.paths, later = AREAS[name]
        moves = git("diff", "-M", "--diff-filter=R", "--name-status", until, "HEAD")
        moved = dict(line.split("\t")[1:] for line in moves)
        self.files = {moved.get(f, f) for f in added(self.since, until, self.paths)}
        self.files |= added(until, "HEAD", later)
        self.tests = tests_at(until) - tests_at(self.since)

    def owns(self, file: str, test: str) -> bool:
        return file in self.files or (re.match(self.paths, file) is not None and test in self.tests)


def cpu_of(words: list[str], folder: str = ".", **variables: str) -> tuple[float, str]:
    """Seconds of CPU of a program and its children, and what it printed."""
    with tempfile.TemporaryFile("w+") as out:
        environment = os.environ | variables
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=folder, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        out.seek(0)
        return used.ru_utime + used.ru_stime, out.read()


def pytest_seconds(area: Area, files: list[Path]) -> tuple[float, float]:
    """Of the area's tests, and of all."""
    own = total = 0.0
    for file in files:
        for line in file.read_text().splitlines():
            cpu, _, name = line.split("\t", 2)
            path, _, test = name.partition("::")
            total += float(cpu)
            own += float(cpu) * area.owns(path, test.partition("[")[0])
    return own, total


def unit_seconds(area: Area, program: Path) -> tuple[float, float]:
    """Runs the tests of each source alone; the CPU time of a source is shared by its cases' wall time."""
    own = total = 0.0
    for source in re.findall(
        r"^  (src/\S+_test\.cpp)$", Path("cmake/tests.cmake").read_text(), re.M
    ):
        cpu, text = cpu_of([str(program), f"-sf=*{source}", "--duration=true"])
        cases = [(float(s), name) for s, name in re.findall(r"^(\d+\.\d+) s: (.*)$", text, re.M)]
        all_cases = sum(seconds for seconds, _ in cases) or 1.0
        total += cpu
        own += cpu * sum(s for s, name in cases if area.owns(source, name)) / all_cases
    return own, total


def compile_seconds(area: Area, entries: list[dict[str, str]], step: int) -> tuple[float, int]:
    """Of the area's sources in a build, from every step-th of them, and how many there are."""
    root = Path.cwd()
    own = [e for e in entries if os.path.relpath(e["file"], root) in area.files]
    some, seconds = own[::step], 0.0
    for entry in some:
        words = shlex.split(entry["command"])
        with tempfile.TemporaryDirectory() as folder:
            words[words.index("-o") + 1] = f"{folder}/thrown_away.o"
            seconds += cpu_of(words, entry["directory"], CCACHE_DISABLE="1")[0]
    return seconds / max(len(some), 1) * len(own), len(own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("--times", nargs="*", type=Path, default=[Path("build/log/cpu_times.tsv")])
    parser.add_argument(
        "--compile", type=int, default=0, metavar="N", help="every N-th source; 0: none"
    )
    arguments = parser.parse_args()
    area = Area(arguments.area)
    print(f"{arguments.area}: {len(area.files)} files since {area.since}")
    if all(file.exists() for file in arguments.times):
        print("pytest  {:7.1f} s of {:.1f}".format(*pytest_seconds(area, arguments.times)))
    for build in BUILDS:
        if (program := Path(f"build/{build}/unit_tests")).exists():
            print("{:7} {:7.1f} s of {:.1f}".format(build, *unit_seconds(area, program)))
        commands = Path(f"build/{build}/compile_commands.json")
        if arguments.compile and commands.exists():
            entries = json.loads(commands.read_text())
            rest = left_out(entries) if build != "release" else []
            entries = [entry for entry in entries if entry not in rest]
            seconds, count = compile_seconds(area, entries, arguments.compile)
            print(
                f"compile {seconds:7.1f} s cold, {count} objects of {len(entries)} in build/{build}"
            )
    targets = [f for f in area.files if re.match(r"fuzz/[^/]+\.cpp$", f)]
    every = len(list(Path("fuzz").glob("*.cpp")))
    total = re.search(r"--total (\d+)", Path("tools/dev/stages.sh").read_text())
    assert total
    seconds = CORES * int(total[1]) * len(targets) / every
    print(f"fuzz    {seconds:7.1f} s, {len(targets)} targets of {every}")


if __name__ == "__main__":
    main()
