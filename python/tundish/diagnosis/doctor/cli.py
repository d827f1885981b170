"""`tundish doctor`: the verb. The program runs it as `python -m tundish doctor ...`.

The script's output and exit code come through; the verdict is on stderr, as `time` and `perf` do.
"""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from ..._c.errors import ArgumentError
from ..watch.settings import Settings
from .apply import apply_change
from .cli_words import HELP, files_of, parse
from .extra_words import asked_phases, set_extras
from .missing import missing_notes
from .page import report_page
from .plan_change import add_plan
from .ranks import judge_ranks
from .report_file import json_text, origin
from .run import Ended, command_of, run
from .static import findings_of, with_costs
from .text import verdict_text
from .verdict import Verdict, judge

if TYPE_CHECKING:
    from ...tuning.plan import Plan

OK, FAILED, USAGE, NOT_STARTED = 0, 1, 2, 127


def main(words: list[str]) -> int:
    """The verb with the words after it; the exit code."""
    before_end = words[: words.index("--")] if "--" in words else words
    if "--help" in before_end or "-h" in before_end:
        sys.stdout.write(HELP)
        return OK
    as_json = "--json" in before_end
    try:
        options = parse(words)
        plan = _plan(options)
    except ArgumentError as error:
        return _fail(str(error), USAGE, as_json)
    try:
        ended = _run(options)
    except OSError as error:
        text = f"{options.command[0]}: {error.strerror or error}"
        return _fail(text, NOT_STARTED, as_json)
    verdict = verdict_of(ended)
    if not ended.facts:
        extras = {"timeline": options.timeline, "table": options.table, "memory": options.memory}
        verdict.notes += missing_notes(asked_phases(**extras), {}, "the script")
    verdict.table, verdict.timeline = options.table, ended.timeline
    of_text = findings_of(options.command, verdict.facts.get("files", []))
    verdict.findings = with_costs([*of_text, *verdict.findings], verdict)
    if plan is not None:
        add_plan(verdict, plan, options.plan)
    if options.apply and ended.interrupted:
        verdict.notes.append("--apply: nothing was tried, because Ctrl-C came")
    elif options.apply:
        apply_change(verdict, options.apply, functools.partial(_run, options))
    return _report(verdict, ended, options)


def _plan(options: argparse.Namespace) -> Plan | None:
    """Before the script runs: ArgumentError where the file is no plan."""
    if not options.plan:
        return None
    from ...tuning.plan import load_plan  # imports torch

    try:
        return load_plan(options.plan)
    except OSError as error:
        raise ArgumentError(f"--plan {options.plan}: {error.strerror}") from None


def _run(
    options: argparse.Namespace, apply: str = "", apply_to: str = "", apply_at: str = ""
) -> Ended:
    settings = Settings(steps=options.steps, stop=not options.to_end)
    settings.apply, settings.apply_to, settings.apply_at = apply, apply_to, apply_at
    if options.no_layers or apply:
        settings.layers = 0
    if options.no_replay:
        settings.replayed = 0
    timeline = "" if apply else options.timeline
    if not apply:
        set_extras(settings, timeline=timeline, table=options.table, memory=options.memory)
    command = command_of(options.command)
    return run(command, settings, stdout_to_stderr=options.json, timeline=timeline)


def verdict_of(ended: Ended) -> Verdict:
    """Of the process that trains; of several, of the rank that the others wait for, or of the first one."""
    trained = [one for one in ended.facts if one["steps"]]
    if not ended.facts:
        text = "No verdict: no Python process that imports PyTorch was seen."
        if ended.interrupted:
            text = "No verdict: Ctrl-C came before PyTorch was imported."
        return Verdict(text, None, notes=_notes(ended, 0))
    verdict = judge_ranks(trained) if trained else judge(ended.facts[0])
    verdict.notes += _notes(ended, 0 if verdict.ranks else len(trained))
    return verdict


def _notes(ended: Ended, trained: int) -> list[str]:
    out = []
    if trained > 1:
        out.append(f"{trained} processes train; these are the figures of the first one")
    if ended.code > 128:
        out.append(
            f"the script was ended by signal {ended.code - 128}; this is what was seen until then"
        )
    elif ended.code:
        out.append(
            f"the script ended with exit code {ended.code}; this is what was seen until then"
        )
    if not ended.facts and ended.code <= 128 and not ended.interrupted:
        out.append(
            "python -I, -E and -S keep the doctor out; so does a command that clears PYTHONPATH"
        )
    return out


def _report(verdict: Verdict, ended: Ended, options: argparse.Namespace) -> int:
    files = files_of(options)
    values = _values(verdict, ended, options) if files or options.json else {}
    written, errors = _write_files(files, values, options.report)
    if options.json:
        sys.stdout.write(json_text(values))
        sys.stdout.flush()
    elif not options.quiet or errors:
        encoding = sys.stderr.encoding or "ascii"
        blocks = "utf" in encoding.lower()
        text = verdict_text(verdict, _color(options), blocks, options.layers)
        if written:
            text += f"  written: {', '.join(written)}\n"
        sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()
    for error in errors:
        print(f"tundish: {error}", file=sys.stderr, flush=True)
    if errors:
        return ended.code or FAILED
    not_tried = verdict.applied is not None and not verdict.applied["done"]
    return ended.code or (USAGE if not_tried else OK)


def _write_files(
    files: list[str], values: dict[str, Any], page: str
) -> tuple[list[str], list[str]]:
    """Which were written, and what is wrong with the others: the verdict is printed in any case."""
    written, errors = [], []
    for name in files:
        text = report_page(values) if name == page else json_text(values)
        try:
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
            written.append(name)
        except OSError as error:
            errors.append(f"{name}: {error.strerror or error}")
    return written, errors


def _values(verdict: Verdict, ended: Ended, options: argparse.Namespace) -> dict[str, Any]:
    return {
        **verdict.as_json(),
        "processes": len(ended.facts),
        "exit": ended.code,
        "command": shlex.join(options.command),
        **origin(),
    }


def _fail(text: str, code: int, as_json: bool) -> int:
    print(f"tundish: {text}", file=sys.stderr, flush=True)
    if as_json:
        sys.stdout.write(json_text({"error": {"code": None, "message": text, "exit": code}}))
        sys.stdout.flush()
    return code


def _color(options: argparse.Namespace) -> bool:
    if options.no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
