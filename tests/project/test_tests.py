"""Tests can fail: each test asserts something, and no test is always skipped."""

import ast
import re
from types import SimpleNamespace

import pytest

from tests.conftest import fail_unless_allowed
from tests.helpers import proofs
from tests.helpers.program import ROOT

PYTHON = sorted((ROOT / "tests").glob("*/test_*.py"))
CPP = sorted((ROOT / "src").glob("*/**/*_test.cpp"))


@pytest.mark.parametrize("file", PYTHON, ids=lambda file: file.stem)
def test_every_test_of_python_can_fail_and_is_not_always_skipped(file):
    tests = proofs.python_tests(file)
    assert tests
    known = proofs.known_to(file)
    assert [name for name, test in tests.items() if not proofs.can_fail(test, known)] == []
    assert [name for name, test in tests.items() if proofs.always_skipped(test)] == []
    written = [
        node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    names = [node.name for node in written if node.name.startswith("test_")]
    assert len(names) == len(tests), "two tests have one name: pytest runs the second only"


def test_every_file_of_test_cases_is_part_of_the_program():
    listed = {
        (lists.parent / name).relative_to(ROOT)
        for lists in (ROOT / "src").rglob("CMakeLists.txt")
        for name in re.findall(r"[\w/]+_test\.cpp", lists.read_text())
    }
    assert [file for file in CPP if file.relative_to(ROOT) not in listed] == []


@pytest.mark.parametrize("file", CPP, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_test_case_can_fail_and_is_not_skipped(file):
    text = file.read_text()
    cases = proofs.cases(text)
    assert cases
    assert len(cases) == text.count("\nTEST_CASE(")
    assert [name for name, case in cases.items() if not proofs.case_can_fail(case)] == []
    assert [name for name, case in cases.items() if "skip(" in case[0]] == []


def test_a_test_that_cannot_fail_would_be_found():
    text = """
def helper(x):
    assert x
def silent(x):
    return x
def test_by_itself():
    np.testing.assert_array_equal(1, 2)
def test_by_helper():
    for one in range(3):
        helper(one)
def test_nothing():
    silent(3)
@pytest.mark.skip(reason="later")
def test_skipped():
    assert 1
def test_leaves():
    pytest.skip("later")
    assert 1
@pytest.mark.skipif(os.geteuid() == 0, reason="root")
def test_sometimes():
    if windy:
        pytest.skip("wind")
    assert 1
"""
    known = {f.name: f for f in ast.parse(text).body}
    tests = [name for name in known if name.startswith("test_")]
    cannot = [name for name in tests if not proofs.can_fail(known[name], known)]
    assert cannot == ["test_nothing"]
    skipped = [name for name in tests if proofs.always_skipped(known[name])]
    assert skipped == ["test_skipped", "test_leaves"]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("cannot mount here: not permitted", "skipped"),
        ("could not import 'read_tnd': No module named 'read_tnd'", "failed"),
        ("./dev build makes the program", "failed"),
    ],
)
def test_a_skip_that_nobody_allowed_is_a_failure(reason, outcome):
    report = SimpleNamespace(
        skipped=True, outcome="skipped", longrepr=("file", 1, f"Skipped: {reason}")
    )
    assert fail_unless_allowed(report).outcome == outcome


def test_a_test_case_that_cannot_fail_would_be_found():
    cases = proofs.cases(
        'TEST_CASE("short") { CHECK(1); }\n'
        'TEST_CASE("nothing") {\n  run();\n}\n'
        'TEST_CASE("more" * doctest::skip()) {\n  REQUIRE_FALSE(f());\n}\n'
    )
    assert {name: proofs.case_can_fail(case) for name, case in cases.items()} == {
        "short": True,
        "nothing": False,
        "more": True,
    }
    assert [name for name, case in cases.items() if "skip(" in case[0]] == ["more"]


def test_test_files_have_unique_names():
    """pytest imports files without __init__.py by name alone; duplicates abort the whole run."""
    files = [one for one in PYTHON if not (one.parent / "__init__.py").exists()]
    names = [one.name for one in files]
    assert [str(one) for one in files if names.count(one.name) > 1] == []
