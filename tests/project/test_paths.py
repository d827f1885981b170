"""docs/internals/follow-one-image.md matches the functions recorded by tools/paths/record.py."""

import json
import re

import pytest

from tests.helpers.sizes import ROOT
from tests.helpers.walks import blocks, is_part_of, section

WALKS = {
    "cpu": "A batch that the CPU makes",
    "gpu": "A batch that the GPU decodes",
    "pack": "A record that is packed",
}
MOST_FILES = 14  # that one image passes, from the loop to the row and back
PAGE = (ROOT / "docs/internals/follow-one-image.md").read_text()
RECORD = json.loads((ROOT / "docs/internals/paths.json").read_text())


@pytest.mark.parametrize("walk", WALKS)
def test_the_walk_names_the_functions_that_the_debugger_recorded(walk):
    for step, rows in blocks(section(PAGE, WALKS[walk])).items():
        assert is_part_of(rows, RECORD[walk][step]), f"{walk}, {step}: ./dev paths records again"


@pytest.mark.parametrize("walk", ["cpu", "gpu"])
def test_the_walk_is_short_and_names_every_file(walk):
    page = section(PAGE, WALKS["cpu"]) + section(PAGE, WALKS[walk])
    met = {file for frames in RECORD[walk].values() for _, file in frames}
    assert {file for file in met if file not in page} == set()
    assert len(met) <= MOST_FILES, sorted(met)


@pytest.mark.parametrize("walk", WALKS)
def test_recorded_functions_still_exist(walk):
    for frames in RECORD[walk].values():
        for function, file in frames:
            name = re.split(r"::|\.", function)[-1]
            text = (ROOT / file).read_text()
            assert re.search(rf"\b{name}\(", text), (
                f"{function} in {file}: ./dev paths records again"
            )


def test_an_outdated_page_would_be_found():
    frames = [["a", "src/a.cpp"], ["b", "src/b.cpp"], ["c", "src/c.cpp"]]
    assert is_part_of([frames[0], frames[2]], frames)
    assert not is_part_of([frames[2], frames[0]], frames)
    assert not is_part_of([frames[0], frames[1]], frames)
    assert not is_part_of([["a", "src/b.cpp"], frames[2]], frames)
    page = "**take**: x\n\n    a  src/a.cpp  text\n    b  src/b.cpp\n**read**: y\n    c src/c.cpp\n"
    assert blocks(page) == {"take": frames[:2], "read": frames[2:]}
    for walk, title in WALKS.items():
        assert len(blocks(section(PAGE, title))) >= 2, walk
