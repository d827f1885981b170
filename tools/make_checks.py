"""Makes docs/checks.md from the checks: .venv/bin/python tools/make_checks.py > docs/checks.md

tests/docs/test_checks_page.py compares the page with what this tool makes.
"""

from __future__ import annotations

from tundish.diagnosis.rules.static import CHECKS, TOPICS, Check

HEAD = """# The checks

What `tundish check` looks for, and why. [check.md](check.md) shows how to use it;
`tundish check --explain ID` prints one of these sections. This page is made from the checks by
`tools/make_checks.py`.

An *error* makes results wrong, a *warning* costs time or memory, a *note* is a suggestion and does
not fail a build. Every check has a script that it must find and a clean twin on which all checks
must be silent (`tests/diagnosis/checks/`).
"""


def code(text: str) -> str:
    return f"```py\n{text}\n```"


def section(check: Check) -> str:
    parts = [
        f"### {check.id}",
        f"*{check.level}*: {check.title}.",
        check.why,
        f"**Fix.** {check.remedy}",
    ]
    parts.append(code(check.before))
    if check.after:
        parts += ["Instead:", code(check.after)]
    if check.silent:
        parts.append(f"Silent: {check.silent}.")
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    rows = ["| check | level | what it finds |", "| --- | --- | --- |"]
    for name, check in CHECKS.items():
        rows.append(f"| [{name}](#{name}) | {check.level} | {check.title} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    parts = [HEAD, overview()]
    for topic, names in TOPICS.items():
        parts += [f"## {topic.rstrip('.')}\n", *(section(CHECKS[name]) for name in names)]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
