"""Every check finds what is planted, line by line, and is silent on the clean twin."""

import ast

import pytest
from tundish.diagnosis.checks import CHECKS, LEVELS, TOPICS

from tests.diagnosis import planted

FILES = planted.files()


def test_every_check_has_a_planted_script_and_is_in_one_topic():
    assert sorted(file.stem for file in FILES) == sorted(CHECKS)
    assert sorted(name for names in TOPICS.values() for name in names) == sorted(CHECKS)
    assert len(CHECKS) >= 22


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_planted_lines_are_found_and_no_others(file):
    text, _ = planted.scripts(file)
    assert file.stem in {name for _, name in planted.marked(text)}
    assert planted.found(text) == planted.marked(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_checks_are_silent_on_the_clean_twin(file):
    _, clean = planted.scripts(file)
    assert planted.found(clean) == []


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_says_why_and_what_to_do(name):
    check = CHECKS[name]
    assert check.id == name
    assert check.level in LEVELS
    assert check.title
    assert not check.title.endswith(".")
    assert check.why.endswith((".", ")"))
    assert check.remedy
    assert check.before
    assert ast.parse(check.before).body
    assert ast.parse(check.after).body or not check.after
