"""Detects unit tests and generated files, in which only checks for wrong results run.

The speed of a short training loop in a test does not matter. A generated file should not be edited.
"""

from __future__ import annotations

import ast
import os

_FOLDERS = {"test", "tests"}
_LINES = 30  # number of lines at the top of a file to search for a mark
_WARNINGS = ("do not edit", "don't edit", "do not modify", "not be edited")
_RUNNERS = {"pytest", "unittest", "absl.testing.absltest", "absl.testing.parameterized"}


def in_tests_folder(path: str, folder: str) -> bool:
    """Returns whether the file is in a folder named `test` or `tests` inside the searched folder."""
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


def is_generated(lines: list[str]) -> bool:
    """Returns whether comments at the top of the file mark it as generated."""
    comments = [line for line in lines[:_LINES] if line.lstrip().startswith("#")]
    head = " ".join("\n".join(comments).replace("#", " ").lower().split())
    return "generated" in head and any(warning in head for warning in _WARNINGS)
