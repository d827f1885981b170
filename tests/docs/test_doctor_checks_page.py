"""docs/doctor-checks.md equals the output of tools/make_doctor_checks.py."""

import sys

from tests.helpers.program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import make_doctor_checks


def test_the_page_is_made_from_the_checks():
    again = ".venv/bin/python tools/make_doctor_checks.py > docs/doctor-checks.md"
    assert (ROOT / "docs" / "doctor-checks.md").read_text() == make_doctor_checks.page(), again
