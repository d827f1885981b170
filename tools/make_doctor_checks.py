"""Makes docs/doctor-checks.md from the checks: .venv/bin/python tools/make_doctor_checks.py > docs/doctor-checks.md

tests/docs/test_doctor_checks_page.py compares the page with what this tool makes.
"""

from __future__ import annotations

from tundish.diagnosis.rules.runtime import CHECKS, LAYER_CHECKS

HEAD = """# What only the running script shows

[`tundish doctor`](doctor.md) looks for these while the script trains, beside what
[tundish check](check.md) finds in its text. It looks at parameters and calls of modules in the
profiled steps, which are not in the figures. This page is made from the checks by
`tools/make_doctor_checks.py`.

An *error* makes results wrong, a *warning* costs time or memory. Every check has a planted loop
that it must find and a clean twin on which all checks must be silent
(`tests/diagnosis/test_running_checks.py`).
"""
LAYERS = """## The model's layers

These compare the [measured layers](profile.md#which-layers-take-the-time) of the model with each
other and with what the machine can do. A finding costs at least 5 % of the model's time, unless its
text has another figure. A *note* is a rule of a paper whose gain only a trial shows;
`tundish doctor -v` and the report have it. Every check has a planted model and a clean twin
(`tests/helpers/layer_plants.py`). The rules come from
[ShuffleNetV2](https://arxiv.org/abs/1807.11164) (G1 to G4) and
[TRT-ViT](https://arxiv.org/abs/2205.09579).
"""


def page() -> str:
    parts = [HEAD]
    for head, checks in (("", CHECKS.values()), (LAYERS, LAYER_CHECKS.values())):
        parts += [head] if head else []
        parts += [
            f"### {check.id}\n\n*{check.level}*: {check.title}.\n\n{check.why}\n"
            for check in checks
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
