"""Imports a file that the user named, such as train.py, under its own name."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from typing import Any

from .._c.errors import ArgumentError


def import_file(path: str) -> Any:
    """Imports the user's file under its own name, so that code guarded by `__main__` does not run.

    A file with relative imports is imported as a part of its package, as `python -m package.file` does.
    """
    if depth := package_depth(path):
        return _import_from_package(path, depth)
    folder, base = os.path.split(path)
    name = os.path.splitext(base)[0]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def package_depth(path: str) -> int:
    """Returns how many folders above the file belong to its package; 0 if it has no relative imports."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return 0  # the import itself says what is wrong
    levels = [node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    if not any(levels):
        return 0
    depth, folder = 0, os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        depth, folder = depth + 1, os.path.dirname(folder)
    return max(depth, *levels)


def _import_from_package(path: str, depth: int) -> Any:
    parts = os.path.splitext(path)[0].split(os.sep)
    root, names = os.sep.join(parts[: -depth - 1]), parts[-depth - 1 :]
    if root not in sys.path:
        sys.path.insert(0, root)
    if names[-1] == "__init__":
        names.pop()
    return importlib.import_module(".".join(names))
