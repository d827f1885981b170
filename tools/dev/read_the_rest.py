"""Compiles the sources that sanitizer builds omit with clang, to get its warnings.

These are the sources of the program, the C interface and the benchmarks. Warnings are errors, as in
every build. The sources are compiled without optimization, and the objects are discarded. This takes a
tenth longer than parsing alone, but ccache stores the objects, so later runs take almost no time.

    python3 tools/dev/read_the_rest.py build/asan/compile_commands.json
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Targets that ./dev asan and ./dev fuzz compile: everything that unit_tests links.
COMPILED = {"engine", "convert", "environment", "cli", "fake_nvml", "unit_tests"}
COMPILED |= {"standard_streams"}


def left_out(entries: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns the entries of a compile_commands.json whose target only ./dev build compiles."""
    rest = []
    for entry in entries:
        target = re.search(r"CMakeFiles/([^/]+)\.dir/", entry["command"])
        assert target, entry["command"]
        if "cmake_pch.hxx.cxx" in entry["command"]:
            continue
        if target[1] not in COMPILED and not target[1].startswith("fuzz_"):
            rest.append(entry)
    return rest


def without_precompiled(words: list[str]) -> list[str]:
    """Removes `-Xclang -include-pch -Xclang FILE`, because some precompiled headers do not exist."""
    if "-include-pch" not in words:
        return words
    place = words.index("-include-pch")
    return words[: place - 1] + words[place + 3 :]


def read(entry: dict[str, str]) -> bool:
    words = without_precompiled(shlex.split(entry["command"]))
    if (ccache := shutil.which("ccache")) and os.path.basename(words[0]) != "ccache":
        words.insert(0, ccache)
    with tempfile.TemporaryDirectory() as folder:
        words[words.index("-o") + 1] = f"{folder}/thrown_away.o"
        words += ["-O0", "-g0", "-fno-sanitize=all", "-Werror"]
        return subprocess.run(words, cwd=entry["directory"]).returncode == 0


def main(path: str) -> None:
    with open(path) as file:
        rest = left_out(json.load(file))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [e["file"] for e, good in zip(rest, pool.map(read, rest)) if not good]
    if bad or not rest:
        sys.exit(f"clang: {len(bad)} of {len(rest)} sources have warnings: {' '.join(bad)}")
    print(f"clang: {len(rest)} sources read without a warning")


if __name__ == "__main__":
    main(sys.argv[1])
