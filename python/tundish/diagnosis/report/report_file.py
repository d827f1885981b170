"""The files of a verdict: a page, or JSON, with the machine and versions that it was measured with."""

from __future__ import annotations

from typing import Any

from ..._c.errors import ArgumentError
from ..._cli.json_output import json_text
from ...report.machine import machine, versions
from .environment import environment


def report_text(path: str, values: dict[str, Any]) -> str:
    """What is to be written to a file of that name. `values`: the verdict's JSON, and what the verb adds."""
    defaults = {"processes": 1, "exit": 0, "command": ""}
    values = {**defaults, **values}
    if "machine" not in values:
        values |= origin()
    if path.endswith((".html", ".htm")):
        from .verdict_page import report_page

        return report_page(values)
    if path.endswith(".json"):
        return json_text(values)
    raise ArgumentError(f"{path}: a report is a page or JSON\n  fix: .html or .json at the end")


def origin() -> dict[str, Any]:
    """The machine, versions, and what is said of the environment."""
    return {"machine": machine(), "versions": versions(), "environment": environment()}
