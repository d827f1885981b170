"""Lines of the pages are at most 100 characters long outside tables, links and code."""

import re

import pytest

from tests.helpers.program import ROOT

MOST = 100
MADE_BY_PROGRAMS = {"checks.md", "doctor-checks.md", "errors.md", "reference.md"}
# Pages that are still to be wrapped. Take a page off the list when it is; add none.
NOT_WRAPPED_YET = {
    "bad-data.md",
    "convert.md",
    "drop-in.md",
    "edit-packs.md",
    "frameworks.md",
    "gpu.md",
    "guarantees.md",
    "image-formats.md",
    "limits.md",
    "loader.md",
    "memory.md",
    "migrate-from-dataloader.md",
    "monitoring.md",
    "pack.md",
    "preprocess.md",
    "quickstart.md",
    "recipes.md",
    "resume.md",
    "seeds.md",
    "sources.md",
    "threads.md",
}
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
    if page.name not in MADE_BY_PROGRAMS | NOT_WRAPPED_YET
]


def long_lines(text):
    """Numbers of the lines that are too long; the target of a link does not count."""
    found, is_code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("    ", "|", "![")):
            shown = re.sub(r"\]\([^)]*\)", "]", line)
            found += [number] if len(shown) > MOST else []
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_too_long(page):
    assert long_lines(page.read_text()) == []


def test_a_line_that_is_too_long_would_be_found():
    long = "word " * 21
    link = f"see [the page]({'x' * 100})"
    code = f"```\n{long}\n```\n    {long}\n| {long} |\n![{long}](a.svg)"
    assert long_lines(f"{long}\n{'x' * 100}\n{link}\n{code}\n- {long}") == [1, 10]
