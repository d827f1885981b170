"""Parses test files: lists tests, and finds tests that cannot fail or are always skipped."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAILS = {"raises", "warns", "fail", "check_call"}  # attributes whose call can fail a test
CHECKS = re.compile(r"\b(?:CHECK|REQUIRE|FAIL)(?:_\w+)?\(")
CASE = re.compile(r'^TEST_CASE\("((?:[^"\\]|\\.)*)"(.*)$', re.MULTILINE)


# --- Python -----------------------------------------------------------------------------------


@cache
def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Returns the top-level functions of a file by name, including helpers that it imports."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tests."):
            file = ROOT / f"{str(node.module).replace('.', '/')}.py"
            helpers = functions(file) if file.exists() else {}
            for name in node.names:
                if name.name in helpers:
                    found[name.asname or name.name] = helpers[name.name]
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node
    return found


def fails_by_itself(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr in FAILS or node.func.attr.startswith("assert_")


def can_fail(function: ast.FunctionDef, known: dict[str, ast.FunctionDef]) -> bool:
    """Returns whether the function, or a helper or fixture that it calls, can fail."""
    seen: set[str] = set()
    left = [function]
    while left:
        for node in ast.walk(left.pop()):
            if fails_by_itself(node):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name = node.func.id
                if name in known and name not in seen:
                    seen.add(name)
                    left.append(known[name])
    return False


def python_tests(path: Path) -> dict[str, ast.FunctionDef]:
    return {name: f for name, f in functions(path).items() if name.startswith("test_")}


def known_to(path: Path) -> dict[str, ast.FunctionDef]:
    return functions(ROOT / "tests" / "conftest.py") | functions(path)


def always_skipped(function: ast.FunctionDef) -> bool:
    """Returns whether a test is always skipped, by an unconditional mark or call."""
    marks = [ast.unparse(mark) for mark in function.decorator_list]
    if any(
        re.match(r"pytest\.mark\.(?:skip|xfail)(?:\((?!.*condition)|$)", mark) for mark in marks
    ):
        return True
    if any(re.match(r"pytest\.mark\.skipif\((?:True|1)\b", mark) for mark in marks):
        return True
    calls = [ast.unparse(node) for node in function.body if isinstance(node, ast.Expr)]
    return any(re.match(r"pytest\.(?:skip|xfail)\(", call) for call in calls)


# --- C++ --------------------------------------------------------------------------------------


def cases(text: str) -> dict[str, tuple[str, str]]:
    """Returns the test cases of a file by name, as (text after the name, body)."""
    found = {}
    for case in CASE.finditer(text):
        body = text[case.end() :]
        line = case[2]
        # A one-line case ends at the end of the line. Other cases end at the first brace in column 1.
        found[case[1]] = (line, line if line.endswith("}") else body.split("\n}", 1)[0])
    return found


def case_can_fail(case: tuple[str, str]) -> bool:
    return CHECKS.search(case[1]) is not None
