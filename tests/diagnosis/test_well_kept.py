"""No findings in well-kept scripts: Accelerate's, Lightning's, and ours.

docs/internals/checked-scripts.md lists the other packages.
"""

import importlib.util
import re
from pathlib import Path

import pytest
import tundish
from tundish.diagnosis.lint.check import check_source, choose
from tundish.diagnosis.script.source_text import read_source

from tests.helpers.program import ROOT

SHOWN = {"check.md"}  # the page that shows findings on purpose
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
    if page.name not in SHOWN and "```py" in page.read_text()
]


def folder_of(package):
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0])


@pytest.mark.parametrize(
    ("package", "part", "least"),
    [("accelerate", "test_utils", 15), ("lightning", "pytorch/demos", 4)],
)
def test_scripts_of_packages_have_no_findings(package, part, least):
    report = tundish.check(folder_of(package) / part)
    assert report.files >= least
    assert report.not_checked == []
    assert [one.place for one in report.findings] == []


def test_our_own_scripts_have_no_findings():
    training = ("examples", "python/tundish/demo", "python/tundish/tuning/tricks", "bench/load")
    report = tundish.check([ROOT / name for name in training])
    assert report.files > 25
    assert [(one.place, one.check) for one in report.findings] == []
    assert report.unused_suppressions == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_our_pages_has_no_findings(page):
    text = page.read_text()
    blocks = re.findall(r"^```(?:python|py)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    source = read_source(page.name, "\n".join(blocks).encode())
    findings = check_source(source, choose((), ()))[0]
    assert [one.check for one in findings] == []


WHOLE = sorted((Path(__file__).parent / "well_kept").glob("*.txt"))


@pytest.mark.parametrize("file", WHOLE, ids=lambda file: file.stem)
def test_well_kept_scripts_have_no_findings(file):
    source = read_source(file.name, file.read_bytes())
    assert len(source.lines) > 30
    assert [(one.line, one.check) for one in check_source(source, choose((), ()))[0]] == []
