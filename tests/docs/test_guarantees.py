"""docs/guarantees.md: every sentence has proofs, which are tests that run and can fail."""

import re
import subprocess
import sys

import pytest

from tests.helpers import proofs
from tests.helpers.program import ROOT, UNIT_TESTS

PAGE = ROOT / "docs/guarantees.md"
LINK = re.compile(r"\[([^\]]+)\]\(\.\./((?:tests|src)/[\w/]*test[\w]*\.(?:py|cpp))\)")
SECTIONS = ["Visitation", "Same pixels as torchvision", "Order", "Resume", "Failure", "Memory"]
SECTIONS += ["Files", "An accelerated DataLoader", "Exit"]


def guarantees():
    """Returns each sentence with its proofs, (name, file), by section."""
    found = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        title, text = section.split("\n", 1)
        items = re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)
        found[title] = [
            (item.split("\n")[0], LINK.findall(item.replace("\n  ", " "))) for item in items
        ]
    return found


@pytest.fixture(scope="module")
def collected():
    """(name, file) of every test that pytest would run from the files named on the page."""
    named = {path for section in guarantees().values() for _, links in section for _, path in links}
    files = sorted(path for path in named if path.endswith(".py"))
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*line, *files], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(tests/[\w/]+\.py)::(\w+)", done.stdout, re.MULTILINE)
    return {(name, path) for path, name in found}


@pytest.fixture(scope="module")
def listed():
    """Names of the test cases that unit_tests would run, without skipped test cases."""
    done = subprocess.run(
        [UNIT_TESTS, "--list-test-cases", "--no-intro"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


def why_no_proof(name, path, collected, listed):
    """Returns why the test cannot prove its guarantee, or "" if no reason is found."""
    file = ROOT / path
    if path.endswith(".py"):
        test = proofs.python_tests(file).get(name)
        if test is None or (name, path) not in collected:
            return "pytest does not run it"
        if proofs.always_skipped(test):
            return "it is always skipped"
        return "" if proofs.can_fail(test, proofs.known_to(file)) else "it asserts nothing"
    case = proofs.cases(file.read_text()).get(name)
    if case is None or name not in listed:
        return "unit_tests does not run it"
    return "" if proofs.case_can_fail(case) else "it checks nothing"


def test_every_part_of_the_contract_is_on_the_page():
    assert list(guarantees()) == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
def test_every_guarantee_names_tests_that_run_and_can_fail(section, collected, listed):
    assert guarantees()[section]
    for sentence, links in guarantees()[section]:
        assert links, f"no proof: {sentence}"
        for name, path in links:
            why = why_no_proof(name, path, collected, listed)
            assert not why, f"{path}, {name!r}: {why}"


def test_an_invalid_proof_would_be_found(collected, listed):
    order = "src/data/order/order_test.cpp"
    epoch = "an epoch visits every sample exactly once"
    assert why_no_proof(epoch, order, collected, listed) == ""
    assert why_no_proof("an epoch visits", order, collected, listed) == "unit_tests does not run it"
    assert why_no_proof(epoch, order, collected, listed - {epoch}) == "unit_tests does not run it"
    name, ranks = "test_dropping_omits_less_than_a_global_batch", "tests/order/test_ranks.py"
    assert why_no_proof(name, ranks, collected, listed) == ""
    assert why_no_proof(name[:-1], ranks, collected, listed) == "pytest does not run it"
    assert why_no_proof(name, ranks, set(), listed) == "pytest does not run it"
