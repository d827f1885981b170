"""Detects unit tests. The speed of their short training loops does not matter."""

from __future__ import annotations

import ast
import os

_FOLDERS = {"test", "tests"}
_RUNNERS = {"pytest", "unittest", "absl.testing.absltest", "absl.testing.parameterized"}


def in_tests_folder(path: str, folder: str) -> bool:
    """Returns whether the file is in a folder `test` or `tests` below the searched folder."""
    below = os.path.dirname(os.path.relpath(path, folder))
    return not _FOLDERS.isdisjoint(below.split(os.sep))


def has_unit_tests(tree: ast.Module) -> bool:
    """Returns whether a file imports a test runner and defines a test or fixture at its top level."""
    imported: set[str] = set()
    tests = False
    for node in tree.body:
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.update(f"{node.module}.{alias.name}" for alias in node.names)
            imported.add(node.module or "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tests = tests or node.name.startswith("test_")
        elif isinstance(node, ast.ClassDef):
            tests = tests or _is_test_class(node)
    return tests and not _RUNNERS.isdisjoint(imported)


def _is_test_class(node: ast.ClassDef) -> bool:
    methods = (statement for statement in node.body if isinstance(statement, ast.FunctionDef))
    return any(method.name.startswith("test_") for method in methods)
