"""docs/check.md: the lists of checks equal the output of tools/make_checks.py."""

import sys

from tundish.diagnosis.rules.layers import RULES as LAYER_CHECKS
from tundish.diagnosis.rules.runtime import RULES as RUNTIME_CHECKS
from tundish.diagnosis.rules.static import RULES

from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_checks

PAGE = make_checks.PAGE


def test_the_page_equals_the_generated_page():
    assert PAGE.read_text() == make_checks.page(), ".venv/bin/python tools/make_checks.py"


def test_every_check_has_the_section_that_its_findings_link_to():
    text = PAGE.read_text()
    words = " ".join(text.split())
    for name, check in {**RULES, **RUNTIME_CHECKS, **LAYER_CHECKS}.items():
        assert check.page == f"docs/check.md#{name}"
        assert f"# {name}\n" in text
        assert " ".join(check.reason.split()) in words


def test_an_id_belongs_to_one_check():
    ids = [*RULES, *RUNTIME_CHECKS, *LAYER_CHECKS]
    assert len(ids) == len(set(ids))
