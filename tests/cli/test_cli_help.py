"""Help, explanations, and the program's answers to invalid arguments."""

import json
import os
import re
import sys

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

sys.path.insert(0, str(ROOT / "tools"))
from wrapped import wrapped_page

pytestmark = needs_program

GROUPS = {"diagnose": "doctor", "train": "boost", "data": "pack", "more": "demo"}  # first verbs


def test_help_starts_with_an_example_and_lists_every_verb():
    text = out(tundish("--help"))
    assert text.startswith("examples:\n  tundish boost")
    assert "Makes PyTorch training faster and shows what slows it down." in text
    assert re.findall(r"^  ([a-z]+)  +\S", text, re.M) == [*VERBS]
    assert re.findall(r"^(diagnose|train|data|more):$", text, re.M) == [*GROUPS]
    for group, first in GROUPS.items():
        assert f"\n{group}:\n  {first} " in text
    assert max(map(len, text.splitlines())) <= 80
    assert out(tundish("help")) == text


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_starts_with_its_example(verb):
    result = tundish("help", verb)
    assert result.returncode == 0
    assert out(result).startswith(f"examples:\n  tundish {verb}")
    assert "exit codes: 0 done" in out(result)
    assert max(map(len, out(result).splitlines())) <= 88
    assert tundish(verb, "--help").stdout == result.stdout


@pytest.mark.parametrize("words", [*([verb] for verb in VERBS), ["bench", "load"]], ids=" ".join)
def test_the_help_lists_every_option_once(words):
    options = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", out(tundish("help", *words)), re.M)
    assert "--json" in options
    assert len(options) == len(set(options))


def test_help_works_for_sub_verbs():
    assert out(tundish("help", "bench", "load")).startswith("examples:\n  tundish bench load")
    assert out(tundish("help", "bench", "load")) == out(tundish("bench", "load", "--help"))


def test_the_version_matches_the_project():
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
        ["unpack", "a.tnd"],
        ["unpack", "a.tnd", "--record"],
        ["unpack", "a.tnd", "--record", "first"],
        ["unpack", "a.tnd", "--record", "99999999999999999999999"],
        ["unpack", "a.tnd", "--record", "0", "-o", ""],
        ["explain"],
        ["explain", "TND-999"],
        ["explain", "TND-203", "--all"],
        ["bench", "a.tnd", "--size", "0"],
        ["bench", "a.tnd", "--seconds", "0"],
        ["bench", "a.tnd", "--seconds", "nan"],
        ["bench", "a.tnd", "--seconds", "1s"],
        ["top", "--interval", "0.01"],
        ["info", "a.tnd", "--list", "--stats"],
        ["verify", "a.tnd", "--pixels", "--salvage", "b.tnd"],
        ["verify", "a.tnd", "--salvage", ""],
        ["view", "a.tnd"],
        ["view", "a.tnd", "--transforms", "recipe.json"],
        ["view", "a.tnd", "--transforms", "recipe.json", "--state", "state.json", "-o", "a.png"],
        ["view", "a.tnd", "--state", "state.json", "-o", "a.html"],
        ["help", "nothing"],
    ],
)
def test_invalid_usage_exits_with_code_2_and_a_message(words, tmp_path):
    result = tundish(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == b""
    assert err(result).startswith("tundish: ")
    assert os.listdir(tmp_path) == []


RENAMED_VERBS = {
    "stats": "info --stats",
    "ls": "info --list",
    "cat": "unpack --record N",
    "salvage": "verify --salvage OUT",
    "replay": "view --state STATE",
    "compare": "doctor compare",
}
RENAMED_OPTIONS = [
    ("bench", "--batch", "--batch-size"),
    ("bench", "--milliseconds", "--seconds"),
    ("bench load", "--batch", "--batch-size"),
    ("bench load", "--milliseconds", "--seconds"),
    ("bench load", "--chart", "--output"),
    ("view", "--batch", "--batch-size"),
    ("env", "--record", "--record-bytes"),
    ("demo", "--milliseconds", "--seconds"),
    ("demo", "--images", "--samples"),
    ("info", "--count", "--samples"),
    ("bench load", "--trainer", "--train-rate"),
    ("pack", "--limit", "--samples"),
    ("pack", "--prove-sample", "--prove-samples"),
    ("pack", "--sample", "--subset"),
    ("pack", "--tables", "--lanes-tables"),
    ("top", "--count", "--snapshots"),
]


def refused_with(message, *words, **options):
    result = tundish(*words, **options)
    assert (result.returncode, result.stdout) == (2, b"")
    assert err(result).splitlines()[0] == f"tundish: {message}"
    error = json.loads(tundish(*words, "--json", **options).stdout)["error"]
    assert error["message"].splitlines()[0] == message
    return True


@pytest.mark.parametrize(("before", "now"), RENAMED_VERBS.items())
def test_an_old_verb_names_the_new_one(before, now, tmp_path):
    message = f"'{before}' is now 'tundish {now}'"
    assert refused_with(message, before, "a.tnd", cwd=tmp_path)
    assert refused_with(message, before, "--help", cwd=tmp_path)
    assert refused_with(message, "help", before, cwd=tmp_path)


@pytest.mark.parametrize(("verb", "before", "now"), RENAMED_OPTIONS)
def test_an_old_option_names_the_new_one(verb, before, now, tmp_path):
    words = [*verb.split(), "a.tnd"]
    assert refused_with(f"{before} is now {now}", *words, before, "1", cwd=tmp_path)
    assert refused_with(f"{before} is now {now}", *words, f"{before}=1", cwd=tmp_path)


def test_renamed_options_exist_and_appear_in_the_help():
    table = (ROOT / "src/cli/renamed.cpp").read_text()
    assert dict(re.findall(r'RenamedVerb\{"([^"]+)", "([^"]+)"\}', table)) == RENAMED_VERBS
    row = r'RenamedOption\{"([^"]+)", "([^"]+)", "([^"]+)"\}'
    assert re.findall(row, table) == RENAMED_OPTIONS
    options = [tuple(now.split()[:2]) for now in RENAMED_VERBS.values()]
    for verb, option in options + [(verb, now) for verb, _, now in RENAMED_OPTIONS]:
        text = out(tundish("help", *verb.split()))
        if option.startswith("--"):
            assert re.search(rf"^  (?:-\w, |    ){option}\b", text, re.M), (verb, option)
        else:
            assert f"tundish {verb} {option}" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "a.tnd", "--samples", "3"], "--samples is only for --list and --stats"),
        (["info", "a.tnd", "--list", "-j", "2"], "--threads is only for --stats"),
        (["info", "a.tnd", "--stats", "--from", "1"], "--from is only for --list"),
        (["unpack", "a.tnd", "-o", "b", "--field", "label"], "--field is only for --record"),
        (["verify", "a.tnd", "--like", "b.tnd"], "--like is only for --salvage"),
        (["verify", "a.tnd", "-f"], "--force is only for --salvage"),
        (["view", "a.tnd", "--state", "s", "--draws", "1"], "--draws is only for --transforms"),
        (["view", "a.tnd", "--transforms", "r", "--rank", "1"], "--rank is only for --state"),
        (["bench", "load", "a.tnd", "-o", "a.svg"], "--output is only for --sweep"),
        (["info", "a.tnd", "--list", "--stats"], "--list and --stats cannot be combined"),
    ],
)
def test_an_option_of_a_mode_needs_the_mode(words, message, tmp_path):
    result = tundish(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert err(result).splitlines()[0] == f"tundish: {message}"
    assert os.listdir(tmp_path) == []


def test_explain_accepts_several_spellings_of_every_code():
    text = out(tundish("explain", "TND-203"))
    assert text.startswith("TND-203 fails its checksum\n  why: ")
    assert out(tundish("explain", "203")) == text
    assert out(tundish("explain", "tnd203")) == text
    entry = result_json("explain", "TND-203")
    assert set(entry) == documented_keys("explain")
    assert entry in result_json("explain", "--all")


def test_the_page_of_error_codes_is_up_to_date():
    page = (ROOT / "docs/errors.md").read_text()
    assert page == wrapped_page(out(tundish("explain", "--all"))), (
        "tundish explain --all | .venv/bin/python tools/wrapped.py > docs/errors.md"
    )


def test_remedies_name_only_verbs_that_exist():
    for entry in result_json("explain", "--all"):
        for verb in re.findall(r"tundish ([a-z]+)", entry["fix"]):
            assert verb in VERBS, entry
