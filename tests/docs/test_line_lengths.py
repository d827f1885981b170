"""Lines of the pages are at most 100 characters long outside tables, links and code."""

import re

import pytest

from tests.helpers.program import ROOT

MOST = 100
MADE_BY_PROGRAMS = {
    f"docs/{name}.md" for name in ("checks", "doctor-checks", "errors", "reference")
}
# Pages that are not wrapped yet. Remove a page from the list when it is wrapped; add none.
NOT_WRAPPED_YET = {
    "docs/internals/decisions/0001-c-interface-and-ctypes.md",
    "docs/internals/decisions/0002-order-is-a-function.md",
    "docs/internals/decisions/0003-samples-as-unit-of-work.md",
    "docs/internals/decisions/0004-page-locked-memory-is-torchs.md",
    "docs/internals/decisions/0005-lanes.md",
    "docs/internals/decisions/0006-a-worker-plans-a-whole-batch-for-the-gpu.md",
    "docs/internals/decisions/0007-three-builds-test-everything.md",
    "docs/internals/decisions/0008-one-description.md",
    "docs/internals/decisions/0009-rooms-by-idea.md",
    "docs/internals/decisions/0010-views-and-mixing.md",
    "docs/internals/decisions/0011-tuning-in-processes.md",
    "docs/internals/decisions/0012-threads-by-measurement.md",
    "docs/internals/decisions/0013-the-engine-reads-torchs-tensors.md",
    "docs/internals/follow-one-image.md",
    "docs/internals/format.md",
    "docs/internals/lanes.md",
    "docs/internals/memory-and-gpu.md",
    "docs/internals/order.md",
    "docs/internals/why.md",
}
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    if str(page.relative_to(ROOT)) not in MADE_BY_PROGRAMS | NOT_WRAPPED_YET
]


def long_lines(text):
    """Returns the numbers of lines that are too long; the target of a link does not count."""
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
