"""The command `tundish check`: prints findings to stdout and messages to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..._c.library import version
from ..._cli.arguments import Options
from ..._cli.error_output import print_error
from ..._cli.exit_codes import FAILED, OK, USAGE
from ..._cli.json_output import json_text, print_json
from ..._cli.terminal import use_color, write_stdout
from ..._cli.verb import run_verb
from ..lint.check import check, choose
from ..lint.finding import CheckReport
from ..lint.finding_text import report_text
from ..lint.sarif import report_sarif
from ..rules.static import RULES, TOPICS, StaticRule
from .check_options import ARGUMENTS

FOUND, NOT_CHECKED = FAILED, 3


def main(argv: Sequence[str]) -> int:
    """Runs the command with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _run)


def _run(options: Options) -> int:
    if options.explain:
        return _explain(choose([options.explain], [])[0], options.json)
    select = options.select or []
    if options.list:
        return _list(choose(select, options.ignore), options.json)
    report = check(options.paths, select=select, ignore=options.ignore)
    failed = _write_sarif(options.sarif, report) if options.sarif else ""
    for file in report.not_checked:
        print_error(str(file), NOT_CHECKED, no_color=options.no_color)
    if options.json:
        print_json(report.as_json())
    elif not options.quiet:
        write_stdout(report_text(report, use_color(sys.stdout, options.no_color)))
    if failed:
        return print_error(failed, USAGE, no_color=options.no_color)
    return exit_code(report)


def _write_sarif(path: str, report: CheckReport) -> str:
    """Writes the SARIF file. Returns an error message, or ""."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json_text(report_sarif(report, version())))
    except OSError as error:
        return f"--sarif {path}: cannot be written: {error.strerror or error}"
    return ""


def exit_code(report: CheckReport) -> int:
    if report.not_checked:
        return NOT_CHECKED
    return FOUND if report.problems else OK


def _list(checks: list[StaticRule], as_json: bool) -> int:
    if as_json:
        print_json([_about(check) for check in checks])
        return OK
    chosen = {check.id for check in checks}
    lines: list[str] = []
    for topic, names in TOPICS.items():
        shown = [RULES[name] for name in names if name in chosen]
        if shown:
            rows = (f"  {check.id:<29} {check.level:<8} {check.title}" for check in shown)
            lines += [topic, *rows, ""]
    lines.append(f"{len(checks)} checks; see tundish check --explain ID")
    write_stdout("\n".join(lines) + "\n")
    return OK


def _explain(check: StaticRule, as_json: bool) -> int:
    if as_json:
        print_json(_about(check))
        return OK
    lines = [f"{check.id}: {check.title} ({check.level})", "", check.reason, ""]
    lines += [f"fix: {check.fix}", ""]
    lines += ["found:", *(f"    {line}" for line in check.before.splitlines())]
    if check.after:
        lines += ["instead:", *(f"    {line}" for line in check.after.splitlines())]
    if check.silent:
        lines += ["", f"not reported: {check.silent}"]
    write_stdout("\n".join([*lines, "", f"page: {check.page}"]) + "\n")
    return OK


def _about(check: StaticRule) -> dict[str, str]:
    names = ("level", "title", "reason", "fix", "page")
    return {"check": check.id, **{name: getattr(check, name) for name in names}}
