"""docs/checks.md equals the output of tools/make_checks.py."""

import sys

from tundish.diagnosis.rules.static import CHECKS

from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_checks

PAGE = ROOT / "docs" / "checks.md"


def test_the_page_equals_the_generated_page():
    assert PAGE.read_text() == make_checks.page(), (
        ".venv/bin/python tools/make_checks.py > docs/checks.md"
    )


def test_every_check_has_the_section_that_its_findings_link_to():
    text = PAGE.read_text()
    for name, check in CHECKS.items():
        assert check.page == f"docs/checks.md#{name}"
        assert f"\n### {name}\n" in text
        assert check.why in text
