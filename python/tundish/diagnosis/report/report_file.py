"""Writes a verdict to a file: HTML or JSON, with the machine and versions of the measurement."""

from __future__ import annotations

from ..._c.errors import ArgumentError
from ..._cli.json_output import json_text
from ...report.machine import machine, versions
from ..doctor_json import OriginJson, ReportJson
from .environment import environment


def report_text(path: str, values: ReportJson) -> str:
    """Returns the contents of the file, by its extension.

    `values`: the verdict's JSON and the values that the verb adds.
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
    """Returns the machine, versions and findings about the environment."""
    return {"machine": machine(), "versions": versions(), "environment": environment()}
