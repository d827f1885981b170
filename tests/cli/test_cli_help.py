"""Help, explanations, and what the program says to wrong words."""

import os
import re

import pytest

from tests.helpers.program import (
    ROOT,
    VERBS,
    documented_keys,
    err,
    needs_program,
    out,
    result_json,
    tundish,
)

pytestmark = needs_program


def test_help_starts_with_an_example_and_lists_every_verb():
    text = out(tundish("--help"))
    assert text.startswith("examples:\n  tundish pack")
    assert re.findall(r"^  ([a-z]+)  +\S", text, re.M) == [*VERBS]
    assert out(tundish("help")) == text


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_starts_with_its_example(verb):
    result = tundish("help", verb)
    assert result.returncode == 0
    assert out(result).startswith(f"examples:\n  tundish {verb}")
    assert "exit codes: 0 done" in out(result)
    assert max(map(len, out(result).splitlines())) <= 88
    assert tundish(verb, "--help").stdout == result.stdout


def test_the_version_is_that_of_the_project():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert out(tundish("--version")) == f"tundish {version}\n"


def test_a_missing_verb_is_a_usage_error():
    result = tundish()
    assert result.returncode == 2
    assert "usage: tundish VERB" in err(result)


@pytest.mark.parametrize(
    ("slip", "meant"), [("pakc", "pack"), ("verfy", "verify"), ("unp", "unpack")]
)
def test_a_misspelt_verb_names_the_right_one(slip, meant):
    result = tundish(slip)
    assert result.returncode == 2
    assert f"did you mean {meant}?" in err(result)


def test_a_misspelt_option_names_the_right_one(three_photos, tmp_path):
    result = tundish("pack", three_photos, "-o", tmp_path / "a.tnd", "--skipbad")
    assert result.returncode == 2
    assert "did you mean --skip-bad?" in err(result)
    assert "tundish help pack" in err(result)


@pytest.mark.parametrize(
    "words",
    [
        ["pack", "photos"],
        ["pack", "photos", "-o"],
        ["pack", "photos", "-o", ""],
        ["pack", "photos", "-o", "a.tnd", "--threads", "many"],
        ["pack", "photos", "-o", "a.tnd", "--threads", "-1"],
        ["pack", "photos", "more", "-o", "a.tnd"],
        ["info"],
        ["cat", "a.tnd"],
        ["cat", "a.tnd", "first"],
        ["cat", "a.tnd", "99999999999999999999999"],
        ["explain"],
        ["explain", "TND-999"],
        ["explain", "TND-203", "--all"],
        ["bench", "a.tnd", "--size", "0"],
        ["help", "nothing"],
    ],
)
def test_wrong_use_is_exit_code_2_with_a_message(words, tmp_path):
    result = tundish(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == b""
    assert err(result).startswith("tundish: ")
    assert os.listdir(tmp_path) == []


def test_explain_knows_every_code_in_several_spellings():
    text = out(tundish("explain", "TND-203"))
    assert text.startswith("TND-203 fails its checksum\n  why: ")
    assert out(tundish("explain", "203")) == text
    assert out(tundish("explain", "tnd203")) == text
    entry = result_json("explain", "TND-203")
    assert set(entry) == documented_keys("explain")
    assert entry in result_json("explain", "--all")


def test_the_page_of_error_codes_is_up_to_date():
    page = (ROOT / "docs/errors.md").read_text()
    assert page == out(tundish("explain", "--all")), (
        "./dev build && tundish explain --all > docs/errors.md"
    )


def test_remedies_name_only_verbs_that_exist():
    for entry in result_json("explain", "--all"):
        for verb in re.findall(r"tundish ([a-z]+)", entry["remedy"]):
            assert verb in VERBS, entry
