"""Every check finds each planted fault on its line and reports nothing for the clean twin."""

import ast

import pytest
from tundish.diagnosis.rules.static import LEVELS, RULES, TOPICS

from tests.diagnosis import planted

FILES = planted.files()
PAIRS = [
    pytest.param(file.stem, *pair, id=f"{file.stem}{f'-{number}' if number else ''}")
    for file in FILES
    for number, pair in enumerate(planted.pairs(file))
]


def test_every_check_has_a_planted_script_and_is_in_one_topic():
    assert sorted(file.stem for file in FILES) == sorted(RULES)
    assert sorted(name for names in TOPICS.values() for name in names) == sorted(RULES)
    assert len(RULES) >= 22


@pytest.mark.parametrize(("name", "text", "clean"), PAIRS)
def test_the_planted_lines_are_found_and_no_others(name, text, clean):
    assert name in {check for _, check in planted.marked(text)}
    assert planted.found(text) == planted.marked(text)


@pytest.mark.parametrize(("name", "text", "clean"), PAIRS)
def test_no_check_reports_anything_for_a_clean_twin(name, text, clean):
    assert planted.found(clean) == []


@pytest.mark.parametrize(("name", "text", "clean"), PAIRS)
def test_a_finding_suggests_the_planted_fix(name, text, clean):
    suggested = [(one.line, one.fix) for one in planted.findings(text)]
    assert [fix for fix in planted.fixes(text) if fix not in suggested] == []


@pytest.mark.parametrize("name", RULES)
def test_every_check_says_why_and_what_to_do(name):
    check = RULES[name]
    assert check.id == name
    assert check.level in LEVELS
    assert check.title
    assert not check.title.endswith(".")
    assert check.reason.endswith((".", ")"))
    assert check.fix
    assert check.before
    assert ast.parse(check.before).body
    assert ast.parse(check.after).body or not check.after
