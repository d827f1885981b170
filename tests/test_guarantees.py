"""docs/guarantees.md: every sentence has a proof, and every proof exists."""

import re

import pytest
from program import ROOT

PAGE = ROOT / "docs/guarantees.md"
LINK = re.compile(r"\[([^\]]+)\]\(\.\./((?:tests|src)/[\w/]*test[\w]*\.(?:py|cpp))\)")
SECTIONS = ["Visitation", "Order", "Resume", "Failure", "Memory", "Files", "Exit"]


def guarantees():
    """By section: each sentence with its proofs, (name, file)."""
    found = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        title, text = section.split("\n", 1)
        items = re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)
        found[title] = [
            (item.split("\n")[0], LINK.findall(item.replace("\n  ", " "))) for item in items
        ]
    return found


def exists(name, path):
    text = (ROOT / path).read_text()
    if path.endswith(".py"):
        return re.search(rf"^def {re.escape(name)}\(", text, re.MULTILINE) is not None
    return f'TEST_CASE("{name}"' in text


def test_every_part_of_the_contract_is_on_the_page():
    assert list(guarantees()) == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
def test_every_guarantee_names_tests_that_exist(section):
    for sentence, proofs in guarantees()[section]:
        assert proofs, f"no proof: {sentence}"
        for name, path in proofs:
            assert exists(name, path), f"{path} has no test {name!r}"


def test_a_proof_that_does_not_exist_would_be_found():
    assert exists("test_a_proof_that_does_not_exist_would_be_found", "tests/test_guarantees.py")
    assert not exists("test_a_proof_that_does_not", "tests/test_guarantees.py")
    assert exists("an epoch visits every sample exactly once", "src/batch/order_test.cpp")
    assert not exists("an epoch visits every sample", "src/batch/order_test.cpp")
