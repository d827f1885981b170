"""tools/mutate.py changes only code, and names the tests that notice a change."""

import random

import pytest

from tests.helpers.program import ROOT

SOURCE = """#include "a.h"  // 1 < 2
// if (a < 3) return;
static_assert(4 < 5);
bool f(const std::vector<int>& v, int* p) {
  const char* text = "6 + 7";  /* 8 */
  if (!v.empty() && *p <= 0x10u) return true;
  return v[9] == 1'000;
}
"""


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import mutants
    import mutate

    return mutants, mutate


def test_every_operator_and_constant_of_the_code_is_a_mutant_and_nothing_else(tools):
    found = tools[0].mutants_of(SOURCE, "a.cpp", random.Random(1))
    assert sorted((one.line, one.before) for one in found) == [
        (6, "!"),
        (6, "&&"),
        (6, "0x10"),
        (6, "<="),
        (6, "true"),
        (7, "1'000"),
        (7, "9"),
        (7, "=="),
    ]
    for one in found:
        changed = one.apply(SOURCE)
        assert changed != SOURCE
        before, after = SOURCE.split("\n"), changed.split("\n")
        different = [n for n in range(len(before)) if before[n] != after[n]]
        assert different == [one.line - 1]
        undone = tools[0].Mutant("a.cpp", one.line, one.column, one.after, one.before)
        assert undone.apply(changed) == SOURCE


def test_a_seed_gives_the_same_mutants_and_another_one_others(tools):
    files = ["src/data/order/order.cpp", "src/base/crc32c.cpp"]
    first, again, other = (tools[0].chosen(ROOT, files, seed) for seed in (5, 5, 6))
    assert first == again != other
    assert len(first) == len(other) > 50


def test_a_source_that_changed_is_not_mutated(tools):
    mutant = tools[0].Mutant("a.cpp", 6, 3, "while", "if")
    with pytest.raises(ValueError, match=r"a\.cpp:6 holds no 'while' any more"):
        mutant.apply(SOURCE)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("====\n../a.cpp:3:\nTEST CASE:  it works\n\n../a.cpp:4: ERROR\n", "unit_tests: it works"),
        (
            "F\nFAILED tests/test_a.py::test_b[1] - assert 1 == 2\n1 failed\n",
            "tests/test_a.py::test_b[1]",
        ),
        ("Segmentation fault\n", "Segmentation fault"),
        ("", "nothing printed"),
    ],
)
def test_the_test_that_failed_is_named(tools, text, name):
    assert tools[1].failed_test(text) == name


def test_every_folder_of_the_sources_has_its_tests(tools):
    folders = {f.name for f in (ROOT / "src").iterdir() if f.is_dir()}
    assert set(tools[1].RELEVANT) == folders
    for names in tools[1].RELEVANT.values():
        assert all(tools[1].file_of_test(ROOT, name).is_file() for name in names)


def test_sources_that_only_tests_use_are_left_alone(tools):
    for_tests = tools[1].FOR_TESTS
    for name in ("codec/lanes/jpeg_maker.h", "loader/engine/ring_test.cpp", "base/testing.h"):
        assert for_tests.search(f"src/{name}")
    for name in (
        "loader/engine/cpu_maker.cpp",
        "loader/engine/gpu/gpu_maker.h",
        "loader/engine/maker.h",
    ):
        assert not for_tests.search(f"src/{name}")
