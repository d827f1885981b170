"""Mutates one operator or constant of the engine at a time and checks whether a test fails.

    .venv/bin/python tools/mutate.py                 30 mutants in build/mutants, with a new seed
    .venv/bin/python tools/mutate.py --seed 7        the same mutants; resumes where it stopped
    .venv/bin/python tools/mutate.py --under src/loader/state --under src/base/fields
                                                     only sources whose path starts like this

Each mutant is built, without CUDA, in a copy of the tree. Then unit_tests runs, then the tests of the
mutant's folder, then all of pytest. The first failure kills the mutant. A mutant that does not compile,
or that compiles to the same programs, is replaced by another one. build/mutants/SEED.json records each
result. A mutant that survives needs a new test that kills it, or a reason why no test can.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mutants import Mutant, chosen

ROOT = Path(__file__).resolve().parent.parent
# These are files, because in Ninja the library's target `tundish` has the same name as the program.
PRODUCTS = ("unit_tests", "libtundish.so", "libtundish_guard.so", "tundish")
# Sources that only the tests use.
FOR_TESTS = re.compile(
    r"_test\.cpp$|/testing\.h$|/test_\w+\.(?:cpp|h)$|/(?:jpeg|tar)_maker\.(?:cpp|h)$"
    r"|/memory_(?:source|stream)\.h$|/temporary_folder\.h$"
)
# For each folder of src/: quick tests that are likely to fail after a change.
RELEVANT = {
    "augment": ["transforms_pillow", "values", "replay"],
    "base": [
        "arguments",
        "bad_samples",
        "cli_help",
        "sources",
        "memory",
        "values",
        "env",
        "monitoring",
    ],
    "capi": ["library", "arguments", "loader", "dataset", "fields", "monitoring"],
    "cli": [
        "cli_help",
        "cli_pack",
        "cli_refused",
        "cli_look",
        "cli_verify",
        "cli_unpack",
        "cli_demo",
        "cli_system",
        "cli_terminal",
        "replay",
        "sources",
    ],
    "codec": [
        "decode_pillow",
        "dataset",
        "bad_samples",
        "golden_lanes",
        "lanes",
        "cli_pack",
        "preprocess",
    ],
    "cuda": ["device", "pinned", "loader"],
    "data": [
        "sources",
        "fields",
        "format",
        "order",
        "ranks",
        "resume",
        "golden_lanes",
        "copy_to",
        "cli_pack",
        "cli_refused",
        "cli_verify",
        "cli_unpack",
    ],
    "loader": [
        "loader",
        "ranks",
        "bad_samples",
        "report",
        "cache",
        "monitoring",
        "replay",
        "resume",
        "arguments",
        "memory",
        "fields",
    ],
    "optim": ["against_torch", "against_timm", "novograd", "precision", "bad_input"],
    "rewrite": ["convert", "convert_arrays", "cli_unpack", "preprocess", "cli_pack"],
    "tools": ["env", "top"],
}


def file_of_test(root: Path, name: str) -> Path:
    """Returns tests/AREA/test_NAME.py."""
    return next((root / "tests").glob(f"*/test_{name}.py"), root / "tests" / f"test_{name}.py")


class Scratch:
    """A copy of the tree with its own build and Python environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.build = root / "build" / "release"
        self.python = root / ".venv" / "bin" / "python"
        # As in ./dev, so that objects compiled in another folder are found in the cache.
        self.env = os.environ | {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"}

    def fill(self) -> None:
        """Copies the tree. Copies only changed files, so that Ninja rebuilds no others."""
        line = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in names.split("\0"):
            source, target = ROOT / name, self.root / name
            if not source.is_file():
                continue
            data = source.read_bytes()
            if not target.is_file() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        self._make_python()

    def _make_python(self) -> None:
        """Creates an environment with the packages of this one, but with `tundish` from the copy."""
        if not self.python.exists():
            line = [sys.executable, "-m", "venv", "--without-pip", self.root / ".venv"]
            subprocess.run(line, check=True)
        packages = [path for path in sys.path if path.endswith("-packages")]
        found = subprocess.run(
            [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        lines = [str(self.root / "python"), *packages]
        (Path(found) / "copy.pth").write_text("\n".join(lines) + "\n")
        program = self.root / ".venv" / "bin" / "tundish"
        if not program.is_symlink():
            program.symlink_to(self.build / "tundish")

    def run(self, *line: Any, limit_s: float, **more: str) -> tuple[int | None, str]:
        """Runs a command. Returns its exit status (None after `limit_s` seconds) and its output."""
        try:
            done = subprocess.run(
                list(map(str, line)),
                cwd=self.root,
                env=self.env | more,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout.decode(errors="replace")

    def compile(self, *targets: str, jobs: int) -> str | None:
        """Compiles the targets. Returns a digest of the products, or None if they do not compile."""
        if not (self.build / "build.ninja").exists():
            code, text = self.run("cmake", "--preset", "release", "-DTUNDISH_CUDA=OFF", limit_s=600)
            if code != 0:
                sys.exit(text)
        words = ["--target", *targets] if targets else []
        code, _ = self.run("cmake", "--build", self.build, "-j", jobs, *words, limit_s=7200)
        if code != 0:
            return None
        for name in ("libtundish.so", "libtundish_guard.so"):
            shutil.copy(self.build / name, self.root / "python" / "tundish")
        digest = hashlib.sha256()
        for name in PRODUCTS:
            digest.update((self.build / name).read_bytes())
        return digest.hexdigest()

    def sources(self) -> list[str]:
        """Returns the engine's sources that are in the products and that this machine can run."""
        _, text = self.run("ninja", "-C", self.build, "-t", "deps", limit_s=60)
        inside = set(re.findall(rf"(?:{self.root}|\.\./\.\.)/(src/[\w/]+\.(?:cpp|h))\b", text))
        has_avx512 = "avx512_vbmi2" in Path("/proc/cpuinfo").read_text()
        return [
            name
            for name in sorted(inside)
            if not FOR_TESTS.search(name) and (has_avx512 or "avx512" not in name)
        ]


def failed_test(text: str) -> str:
    """Returns the first failure in the output of unit_tests or of pytest."""
    if found := re.search(r"^TEST CASE: +(.*)$", text, re.MULTILINE):
        return f"unit_tests: {found[1]}"
    if found := re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE):
        return found[1]
    return (text.strip().splitlines() or ["nothing printed"])[-1]


def judge(scratch: Scratch, mutant: Mutant, seed: int) -> str:
    """Returns the name of the test that killed the mutant, or "" if the mutant survived."""
    unit = [scratch.build / "unit_tests", "--abort-after=1", "--no-intro"]
    code, text = scratch.run(*unit, limit_s=600, TUNDISH_TEST_SEED=str(seed))
    if code is None:
        return "unit_tests: no end"
    if code != 0:
        return failed_test(text)
    quick = [str(file_of_test(scratch.root, name)) for name in RELEVANT[mutant.file.split("/")[1]]]
    return killed_by_pytest(scratch, quick) or killed_by_pytest(scratch, [])


def killed_by_pytest(scratch: Scratch, files: list[str]) -> str:
    """Returns the first test that fails twice in a row, among the tests in `files`, or among all tests.

    A test that fails only once is excluded from then on.
    """
    line = [scratch.python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    once: list[str] = []
    while True:
        code, text = scratch.run(*line, *once, *files, limit_s=3600, TUNDISH_KILLS="60")
        if code is None:
            return "pytest: no end"
        if code == 0:
            return ""
        name = failed_test(text)
        if "::" not in name or scratch.run(*line, name, limit_s=3600)[0] != 0:
            return name
        print(f"fails now and then: {name}", flush=True)
        once.append(f"--deselect={name}")


class Record:
    """The results of all mutants. They are written to a file atomically after each mutant."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self.path = path
        self.data: dict[str, Any] = {**head, "mutants": [], "replaced": []}
        if path.exists():
            before = json.loads(path.read_text())
            if any(before[key] != value for key, value in head.items()):
                sys.exit(f"{path} is of another tree: give another --seed, or remove it")
            self.data = before

    def add(self, kind: str, mutant: Mutant, **more: Any) -> None:
        self.data[kind].append({**mutant.as_dict(), **more})
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1) + "\n")
        part.replace(self.path)

    def holds(self, mutant: Mutant) -> bool:
        place = (mutant.file, mutant.line, mutant.column)
        done = self.data["mutants"] + self.data["replaced"]
        return any((one["file"], one["line"], one["column"]) == place for one in done)


def try_mutant(scratch: Scratch, record: Record, mutant: Mutant, whole: str, seed: int) -> None:
    file = scratch.root / mutant.file
    text = file.read_text()
    begin = time.monotonic()
    try:
        file.write_text(mutant.apply(text))
        digest = scratch.compile(*PRODUCTS, jobs=1)
        if digest is None or digest == whole:
            reason = "does not compile" if digest is None else "gives the same programs"
            record.add("replaced", mutant, reason=reason)
            return
        killer = judge(scratch, mutant, seed)
    finally:
        file.write_text(text)
    seconds = round(time.monotonic() - begin)
    record.add("mutants", mutant, killed_by=killer, seconds=seconds)
    where = f"{mutant.file}:{mutant.line}:{mutant.column}"
    change = f"{mutant.before!r} to {mutant.after!r}"
    print(f"{where}  {change}  {killer or 'SURVIVED'}  ({seconds} s)", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--under", action="append", help="beginning of a path; may be repeated")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args()
    work = options.work.resolve()
    scratch = Scratch(work / "tree")
    print(f"seed {options.seed}, {work / str(options.seed)}.json", flush=True)
    scratch.fill()
    whole = scratch.compile(jobs=1)
    if whole is None:
        sys.exit("the tree does not compile as it is")
    begins = tuple(options.under or ["src/"])
    files = [name for name in scratch.sources() if name.startswith(begins)]
    if not files:
        sys.exit(f"no source of the engine is under {', '.join(begins)}")
    every = chosen(scratch.root, files, options.seed)
    sites = hashlib.sha256(repr(every).encode()).hexdigest()[:16]
    record = Record(work / f"{options.seed}.json", {"seed": options.seed, "sites": sites})
    if not record.data["mutants"] and (failed := judge(scratch, every[0], options.seed)):
        sys.exit(f"without a mutant this fails: {failed}")
    for mutant in every:
        if len(record.data["mutants"]) >= options.count:
            break
        if not record.holds(mutant):
            try_mutant(scratch, record, mutant, whole, options.seed)
    survived = [mutant for mutant in record.data["mutants"] if not mutant["killed_by"]]
    print(f"{len(record.data['mutants'])} mutants, {len(survived)} survived")
    return int(bool(survived))


if __name__ == "__main__":
    sys.exit(main())
