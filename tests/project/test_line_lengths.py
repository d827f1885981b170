"""Lines of every Markdown file are at most 100 characters long outside tables, links and code."""

import re
import subprocess

import pytest

from tests.helpers.program import ROOT

MOST = 100
UNWRAPPED = re.compile(r"    |\||!\[|`[^`]*`$")  # code, a table, a picture, a signature


def pages():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def long_lines(text):
    """Returns the numbers of lines that are too long; the target of a link does not count."""
    found, is_code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not UNWRAPPED.match(line):
            shown = re.sub(r"\]\([^)]*\)", "]", line)
            found += [number] if len(shown) > MOST else []
    return found


@pytest.mark.parametrize("page", pages())
def test_no_line_is_too_long(page):
    assert long_lines((ROOT / page).read_text()) == []


def test_every_page_is_checked():
    assert {"README.md", "CHANGELOG.md", "bench/README.md", "docs/reference.md"} <= set(pages())


def test_a_line_that_is_too_long_would_be_found():
    long = "word " * 21
    link = f"see [the page]({'x' * 100})"
    code = f"```\n{long}\n```\n    {long}\n| {long} |\n![{long}](a.svg)\n`{long}`"
    assert long_lines(f"{long}\n{'x' * 100}\n{link}\n{code}\n- {long}") == [1, 11]
