"""Finds Python files and notebooks in folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from ..._c.errors import ArgumentError
from .file_kinds import in_tests_folder

EXTENSIONS = (".py", ".ipynb")
# Folders of tools and environments to skip. Files of Emacs (.#train.py) and macOS (._train.py) are
# skipped too.
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist", "venv", "env"}


def python_files(paths: list[str]) -> Iterator[tuple[str, bool]]:
    """Yields (file, whether the file is in a folder of tests).

    Searches folders for scripts and notebooks. A file that is given by name may have any extension.
    Raises ArgumentError for a path that does not exist or contains no script.
    """
    if not paths:
        raise ArgumentError("FILE or FOLDER is missing\n  fix: tundish check train.py")
    seen: set[str] = set()
    for path in paths:
        found = 0
        for file in _files(path):
            found += 1
            name = os.path.normpath(file)
            if name not in seen:
                seen.add(name)
                yield file, file != path and in_tests_folder(file, path)
        if not found:
            raise ArgumentError(f"{path}: this folder contains no Python file and no notebook")


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path) or (os.path.exists(path) and not os.path.isdir(path)):
        yield path
        return
    if not os.path.isdir(path):
        raise ArgumentError(f"{path}: no such file or folder")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(
            name for name in folders if name not in _SKIPPED and not name.startswith(".")
        )
        for name in sorted(names):
            file = os.path.join(folder, name)
            if name.endswith(EXTENSIONS) and not name.startswith((".#", "._")) and _has_text(file):
                yield file


def _has_text(file: str) -> bool:
    """Returns whether a folder entry may be a script. Excludes pipes, which would block reading."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)
    except OSError:
        return True  # reported later as a file that could not be checked
