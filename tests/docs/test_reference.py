"""docs/reference.md equals the output of tools/make_reference.py, and covers all public names."""

import dataclasses
import sys

import pytest
import tundish

from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_reference

PAGE = ROOT / "docs" / "reference.md"


def test_the_page_equals_the_generated_page():
    assert PAGE.read_text() == make_reference.page(), (
        "./dev build && .venv/bin/python tools/make_reference.py > docs/reference.md"
    )


def test_every_public_name_is_on_the_page():
    page = PAGE.read_text()
    assert [name for name in tundish.__all__ if name not in page] == []


def test_every_public_name_of_transforms_has_a_heading():
    transforms = make_reference.sources()["transforms"]
    page = make_reference.transforms(make_reference.sources())
    names = transforms.__all__
    assert [
        one for one in names if f"### {one}\n" not in page and f"### T.{one}\n" not in page
    ] == []
    assert "T.Schedule({0: 128, 10: 160, 18: 192})" in page


@pytest.mark.parametrize(
    "transform", make_reference.sources()["transforms"].Transform.__subclasses__()
)
def test_every_argument_of_a_transform_is_in_its_table(transform):
    section = PAGE.read_text().split(f"### {transform.__name__}\n")[1].split("\n### ")[0]
    for argument in dataclasses.fields(transform):
        assert f"| `{argument.name}` |" in section


def test_every_attribute_of_loader_and_data_set_is_on_the_page():
    page = PAGE.read_text()
    for owner in (tundish.Loader, tundish.Dataset):
        public = [name for name in vars(owner) if not name.startswith("_")]
        assert [name for name in public if f"**`{name}" not in page] == []
    assert "**`len(loader)`**" in page
    assert "**`len(dataset)`**" in page
    assert "**`dataset[i]`**" in page


def test_text_of_a_cell_cannot_end_its_table():
    assert make_reference.table(("a",), [("x | y\nz",)]) == "| a |\n| --- |\n| x \\| y z |"


def test_indented_lines_of_a_docstring_become_a_block():
    def function():
        """What it does.

        one    first
               and more
        two    second
        Text again.
        """

    text = make_reference.documentation(function)
    block = "```text\none    first\n       and more\ntwo    second\n```"
    assert text == f"What it does.\n\n{block}\nText again."
