"""The walks of follow-one-verdict.md and follow-one-step.md match what tools/paths/record.py recorded."""

import json
import re

import pytest

from tests.helpers.sizes import ROOT
from tests.helpers.walks import blocks, is_part_of, missing_functions, section

WALKS = {
    "verdict": "One verdict of the doctor",
    "trial": "One trial of the tuner",
    "step": "One step of an optimizer",
}
MOST_FILES = {"verdict": 14, "trial": 14, "step": 12}
PAGE = "".join(
    (ROOT / f"docs/internals/follow-one-{name}.md").read_text() for name in ("verdict", "step")
)
RECORD = json.loads((ROOT / "docs/internals/paths.json").read_text())


@pytest.mark.parametrize("walk", WALKS)
def test_the_page_names_the_functions_that_were_recorded(walk):
    named = blocks(section(PAGE, WALKS[walk]))
    assert list(named) == list(RECORD[walk])
    for step, rows in named.items():
        assert is_part_of(rows, RECORD[walk][step]), f"{walk}, {step}: ./dev paths records again"


@pytest.mark.parametrize("walk", WALKS)
def test_the_walk_is_short_and_the_page_names_every_file(walk):
    met = {file for frames in RECORD[walk].values() for _, file in frames}
    text = section(PAGE, WALKS[walk])
    assert {file for file in met if file not in text} == set()
    assert len(met) <= MOST_FILES[walk], sorted(met)
    assert f"{len(met)} files" in text


def test_the_page_says_how_many_files_run_between_facts_and_text():
    others = set(RECORD["verdict files"])
    others -= {file for frames in RECORD["verdict"].values() for _, file in frames}
    text = section(PAGE, WALKS["verdict"])
    assert f"{len(others)} further files" in text
    listed = re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE)
    assert sorted(f"python/tundish/{name}" for name in listed) == sorted(others)


@pytest.mark.parametrize("walk", WALKS)
def test_recorded_functions_still_exist(walk):
    frames = [frame for frames in RECORD[walk].values() for frame in frames]
    assert missing_functions(frames, ROOT) == []
