"""Makes docs/doctor-checks.md from the checks: .venv/bin/python tools/make_doctor_checks.py > docs/doctor-checks.md

tests/docs/test_doctor_checks_page.py compares the page with what this tool makes.
"""

from __future__ import annotations

from tundish.diagnosis.running import CHECKS

HEAD = """# What only the running script shows

`tundish doctor` looks for these while the script trains, beside what [tundish check](check.md) finds in its text. Parameters and calls of
modules are looked at in the profiled steps, which are not in the figures. This page is made from the checks by `tools/make_doctor_checks.py`.

An *error* makes results wrong, a *warning* costs time or memory. Every check has a planted loop that it must find and a clean twin on which all
of them must be silent (`tests/diagnosis/test_running_checks.py`).
"""


def page() -> str:
    parts = [
        f"### {check.id}\n\n*{check.level}*: {check.title}.\n\n{check.why}\n"
        for check in CHECKS.values()
    ]
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    print(page(), end="")
