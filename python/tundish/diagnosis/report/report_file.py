"""Writes a verdict to an HTML or JSON file, with information about the machine and versions."""

from __future__ import annotations

from ..._c.errors import ArgumentError
from ..._cli.json_output import json_text
from ...report.machine import machine, versions
from ..doctor_json import OriginJson, ReportJson
from .environment import environment


def report_text(path: str, values: ReportJson) -> str:
    """Returns the contents of the file, in the format of its extension.

    `values` is the verdict's JSON, with the values that the command line adds.
    """
    alone: OriginJson = {"processes": 1, "exit": 0, "command": ""}
    if "machine" not in values:
        alone.update(origin())
    values = {**alone, **values}
    if path.endswith((".html", ".htm")):
        from .verdict_page import report_page

        return report_page(values)
    if path.endswith(".json"):
        return json_text(values)
    raise ArgumentError(
        f"{path}: a report is HTML or JSON\n  fix: end the name with .html or .json"
    )


def origin() -> OriginJson:
    """Returns the machine, the versions, and findings about the environment."""
    return {"machine": machine(), "versions": versions(), "environment": environment()}
