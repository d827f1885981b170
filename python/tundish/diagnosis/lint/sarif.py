"""Converts a report to SARIF 2.1.0, a format that code review tools show beside the code."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from ..rules.static import RULES
from .finding import CheckReport, Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def report_sarif(report: CheckReport, version: str) -> dict[str, Any]:
    """Returns one SARIF run that lists every check as a rule. Paths are relative where possible."""
    ids = list(RULES)
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
                            _notification(file.file, file.line, f"{file.reason}; fix: {file.fix}")
                            for file in report.not_checked
                        ],
                    }
                ],
                "results": [
                    _result(finding, ids.index(finding.check)) for finding in report.findings
                ],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    check = RULES[name]
    return {
        "id": name,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.reason},
        "help": {"text": f"{check.fix} ({check.page})"},
        "defaultConfiguration": {"level": check.level},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    cell = "" if finding.cell is None else f" (cell {finding.cell}, line {finding.line})"
    region: dict[str, Any] = {"startLine": 1}
    if finding.cell is None:
        region = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
            "snippet": {"text": finding.excerpt},
        }
    return {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": f"{finding.text}{cell}. Fix: {finding.fix}"},
        "locations": [
            {"physicalLocation": {"artifactLocation": _location(finding.file), "region": region}}
        ],
    }


def _notification(file: str, line: int | None, text: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _location(file)}
    if line is not None:
        location["region"] = {"startLine": max(1, line)}
    return {
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _location(file: str) -> dict[str, str]:
    """Returns a URI relative to the working folder, or an absolute URI for a file outside it."""
    relative = os.path.relpath(file)
    if relative.startswith(".."):
        return {"uri": "file://" + quote(os.fsencode(os.path.abspath(file)))}
    return {"uri": quote(os.fsencode(str(PurePosixPath(relative)))), "uriBaseId": "%SRCROOT%"}
