"""`tundish check`: the verb. The program runs it as `python -m tundish check ...`.

Results on stdout, messages on stderr. Exit codes: 0 nothing but notes found, 1 findings, 2 wrong
use, 3 a file could not be checked, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, TextIO

from ..._c.errors import ArgumentError
from ..._c.library import version
from ..checks import CHECKS, TOPICS, Check
from .check import check, choose
from .cli_words import HELP, parse
from .finding import Report
from .sarif import report_sarif
from .text import printable, report_text

OK, FOUND, USAGE, NOT_CHECKED, INTERRUPTED = 0, 1, 2, 3, 130
FAILED = 1


def main(words: list[str]) -> int:
    """The verb with the words after it; the exit code."""
    before_end = words[: words.index("--")] if "--" in words else words
    if "--help" in before_end or "-h" in before_end:
        sys.stdout.write(HELP)
        return OK
    as_json = "--json" in before_end
    try:
        return _run(parse(words))
    except ArgumentError as error:
        return _fail(str(error), USAGE, as_json)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED, as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return FAILED
    except OSError as error:
        return _fail(str(error), FAILED, as_json)


def _run(options: argparse.Namespace) -> int:
    if options.explain:
        return _explain(choose([options.explain], [])[0], options.json)
    if options.list:
        return _list(choose(options.select, options.ignore), options.json)
    report = check(options.paths, select=options.select, ignore=options.ignore)
    failed = _write_sarif(options.sarif, report) if options.sarif else ""
    for one in report.not_checked:
        print(f"tundish: {printable_lines(str(one))}", file=sys.stderr, flush=True)
    if options.json:
        _print_json(report.as_json())
    elif not options.quiet:
        _write(report_text(report, _color(sys.stdout, options)))
    if failed:
        print(f"tundish: {printable_lines(failed)}", file=sys.stderr, flush=True)
        return USAGE
    return exit_code(report)


def _write_sarif(path: str, report: Report) -> str:
    """What is wrong with that place, if anything: the findings are printed all the same."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report_sarif(report, version()), file, indent=2)
            file.write("\n")
    except OSError as error:
        return f"--sarif {path}: cannot be written: {error.strerror or error}"
    return ""


def exit_code(report: Report) -> int:
    if report.not_checked:
        return NOT_CHECKED
    return FOUND if report.problems else OK


def _list(checks: list[Check], as_json: bool) -> int:
    if as_json:
        _print_json([_about(one) for one in checks])
        return OK
    chosen = {one.id for one in checks}
    lines: list[str] = []
    for topic, names in TOPICS.items():
        shown = [CHECKS[name] for name in names if name in chosen]
        if shown:
            lines += [topic, *(f"  {one.id:<29} {one.level:<8} {one.title}" for one in shown), ""]
    _write("\n".join([*lines, f"{len(checks)} checks; tundish check --explain ID has more"]) + "\n")
    return OK


def _explain(one: Check, as_json: bool) -> int:
    if as_json:
        _print_json(_about(one))
        return OK
    parts = [f"{one.id}: {one.title} ({one.level})", "", one.why, "", f"fix: {one.remedy}", ""]
    parts += ["found:", *(f"    {line}" for line in one.before.splitlines())]
    if one.after:
        parts += ["instead:", *(f"    {line}" for line in one.after.splitlines())]
    if one.silent:
        parts += ["", f"silent: {one.silent}"]
    _write("\n".join([*parts, "", f"page: {one.page}"]) + "\n")
    return OK


def _about(one: Check) -> dict[str, str]:
    names = ("level", "title", "why", "remedy", "page")
    return {"check": one.id, **{name: getattr(one, name) for name in names}}


def _write(text: str) -> None:
    """A script's bytes may be outside what the terminal can show."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())


def _fail(text: str, code: int, as_json: bool) -> int:
    print(f"tundish: {printable_lines(text)}", file=sys.stderr, flush=True)
    if as_json:
        _print_json({"error": {"code": None, "message": text, "exit": code}})
    return code


def _print_json(values: Any) -> None:
    json.dump(values, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def _color(stream: TextIO, options: argparse.Namespace) -> bool:
    if options.no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
