"""The report as SARIF 2.1.0, which code review tools show beside the lines."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from ..rules.static import CHECKS
from .finding import Finding, Report

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def report_sarif(report: Report, version: str) -> dict[str, Any]:
    """One run with every check as a rule. Paths are relative to the working folder where they can be."""
    ids = list(CHECKS)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tundish check",
                        "version": version,
                        "rules": [_rule(name) for name in ids],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": not report.not_checked,
                        "toolExecutionNotifications": [
                            _notification(one.file, one.line, f"{one.reason}; fix: {one.fix}")
                            for one in report.not_checked
                        ],
                    }
                ],
                "results": [_result(one, ids.index(one.check)) for one in report.findings],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    check = CHECKS[name]
    return {
        "id": name,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.why},
        "help": {"text": f"{check.remedy} ({check.page})"},
        "defaultConfiguration": {"level": check.level},
    }


def _result(one: Finding, rule: int) -> dict[str, Any]:
    cell = "" if one.cell is None else f" (cell {one.cell}, line {one.line})"
    region: dict[str, Any] = {"startLine": 1}
    if one.cell is None:
        region = {
            "startLine": one.line,
            "startColumn": one.column,
            "endLine": one.end_line,
            "endColumn": one.end_column,
            "snippet": {"text": one.excerpt},
        }
    return {
        "ruleId": one.check,
        "ruleIndex": rule,
        "level": one.level,
        "message": {"text": f"{one.text}{cell}. Fix: {one.remedy}"},
        "locations": [
            {"physicalLocation": {"artifactLocation": _place(one.file), "region": region}}
        ],
    }


def _notification(file: str, line: int | None, text: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _place(file)}
    if line is not None:
        location["region"] = {"startLine": max(1, line)}
    return {
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _place(file: str) -> dict[str, str]:
    """A URI relative to the working folder, or an absolute one outside it."""
    relative = os.path.relpath(file)
    if relative.startswith(".."):
        return {"uri": "file://" + quote(os.fsencode(os.path.abspath(file)))}
    return {"uri": quote(os.fsencode(str(PurePosixPath(relative)))), "uriBaseId": "%SRCROOT%"}
