"""The Python files and notebooks below the paths that are given."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..._c.errors import ArgumentError
from .unit_tests import in_tests_folder

ENDINGS = (".py", ".ipynb")
# Folders of tools and environments, which nobody means.
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist", "venv", "env"}


def python_files(paths: list[str]) -> Iterator[tuple[str, bool]]:
    """Yields each file, and whether it is in a folder of tests.

    A file that is named counts whatever its ending; folders are searched. ArgumentError names a path that does not
    exist or holds no script."""
    if not paths:
        raise ArgumentError("FILE or FOLDER is missing\n  fix: tundish check train.py")
    seen: set[str] = set()
    for path in paths:
        found = 0
        for one in _files(path):
            found += 1
            name = os.path.normpath(one)
            if name not in seen:
                seen.add(name)
                yield one, one != path and in_tests_folder(one, path)
        if not found:
            raise ArgumentError(f"{path}: no Python file and no notebook is in this folder")


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path) or (os.path.exists(path) and not os.path.isdir(path)):
        yield path
        return
    if not os.path.isdir(path):
        raise ArgumentError(f"{path}: no such file or folder")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(
            one for one in folders if one not in _SKIPPED and not one.startswith(".")
        )
        for name in sorted(names):
            if name.endswith(ENDINGS):
                yield os.path.join(folder, name)
