"""Which files are unit tests: their training loops are short, and nobody waits for them."""

from __future__ import annotations

import ast
import os

_FOLDERS = {"test", "tests"}
_RUNNERS = {"pytest", "unittest", "absl.testing.absltest", "absl.testing.parameterized"}


def in_tests_folder(path: str, folder: str) -> bool:
    """Whether the file is in a folder `test` or `tests` below the one that was searched."""
    below = os.path.dirname(os.path.relpath(path, folder))
    return not _FOLDERS.isdisjoint(below.split(os.sep))


def has_unit_tests(tree: ast.Module) -> bool:
    """Whether a file imports pytest or unittest, and defines a test or a fixture at its top level."""
    imported: set[str] = set()
    tests = False
    for node in tree.body:
        if isinstance(node, ast.Import):
            imported.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.update(f"{node.module}.{one.name}" for one in node.names)
            imported.add(node.module or "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tests = tests or node.name.startswith("test_")
        elif isinstance(node, ast.ClassDef):
            tests = tests or _is_test_class(node)
    return tests and not _RUNNERS.isdisjoint(imported)


def _is_test_class(node: ast.ClassDef) -> bool:
    methods = (one for one in node.body if isinstance(one, ast.FunctionDef))
    return any(one.name.startswith("test_") for one in methods)
