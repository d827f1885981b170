"""The command `tundish doctor`.

Like `time` and `perf`, it leaves the script's output and exit code unchanged. The verdict goes to
stderr.
"""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._c.errors import ArgumentError
from ..._cli.arguments import Options
from ..._cli.error_output import print_error
from ..._cli.exit_codes import FAILED, OK, USAGE
from ..._cli.json_output import json_text, print_json
from ..._cli.terminal import has_unicode, use_color, write_stderr
from ..._cli.verb import run_verb
from ..doctor_json import ReportJson
from ..probe.facts import NO_FACTS
from ..probe.settings import Settings
from ..process.apply_change import apply_change
from ..process.command import CommandResult, Surroundings, resolve_command, run
from ..recording_options import recorded_phases, set_recordings
from ..report.report_file import origin
from ..report.verdict_page import report_page
from ..report.verdict_text import verdict_text
from ..verdict.plan_prediction import add_plan
from ..verdict.static_findings import script_findings, with_costs
from ..verdict.straggler import judge_ranks
from ..verdict.verdict import Verdict, judge, missing_notes
from . import compare_verb as compare_cli
from .doctor_options import ARGUMENTS, output_files

if TYPE_CHECKING:
    from ...tuning.plan import Plan

NOT_STARTED = 127


def main(argv: Sequence[str]) -> int:
    """Runs the command with the arguments after its name and returns the exit code."""
    if argv[:1] == ["compare"]:
        return compare_cli.main(argv[1:])
    return run_verb(ARGUMENTS, argv, _diagnose)


def _diagnose(options: Options) -> int:
    plan = _load_plan(options)
    try:
        ended = _run(options)
    except OSError as error:
        text = f"{options.command[0]}: {error.strerror or error}"
        return print_error(text, NOT_STARTED, options.json, options.no_color)
    verdict = command_verdict(ended)
    if not ended.facts:
        asked = recorded_phases(
            timeline=options.timeline, table=options.table, memory=options.memory_lines
        )
        verdict.notes += missing_notes(asked, NO_FACTS, "the script")
    verdict.table, verdict.timeline = options.table, ended.timeline
    static = script_findings(options.command, verdict.facts.files)
    verdict.findings = with_costs([*static, *verdict.findings], verdict)
    if plan is not None:
        add_plan(verdict, plan, options.plan)
    if options.apply and ended.interrupted:
        verdict.notes.append("--apply: not tried, because of Ctrl-C")
    elif options.apply:
        apply_change(verdict, options.apply, functools.partial(_run, options))
    return _report(verdict, ended, options)


def _load_plan(options: Options) -> Plan | None:
    """Loads the plan before the script runs. Raises ArgumentError if the file is not a plan."""
    if not options.plan:
        return None
    from ...tuning.plan import load_plan  # imports torch

    try:
        return load_plan(options.plan)
    except OSError as error:
        raise ArgumentError(f"--plan {options.plan}: {error.strerror}") from None


def _run(
    options: Options, apply: str = "", apply_to: str = "", apply_at: str = ""
) -> CommandResult:
    settings = Settings(steps=options.steps, stop=not options.to_end)
    settings.apply, settings.apply_to, settings.apply_at = apply, apply_to, apply_at
    if options.no_layers or apply:
        settings.layers = 0
    if options.no_cached_batches:
        settings.cached_batches = 0
    timeline = "" if apply else options.timeline
    if not apply:
        set_recordings(
            settings, timeline=timeline, table=options.table, memory=options.memory_lines
        )
    command = resolve_command(options.command)
    around = Surroundings(stdout_to_stderr=options.json)
    return run(command, settings, around, timeline)


def command_verdict(ended: CommandResult) -> Verdict:
    """Returns the verdict for the run: for the straggling rank, or for the first rank if none straggles."""
    trained = [facts for facts in ended.facts if facts.steps]
    if not ended.facts:
        text = "No verdict: no Python process imported PyTorch."
        if ended.unreadable:
            text = "No verdict: the facts of the script cannot be read."
        elif ended.interrupted:
            text = "No verdict: interrupted before PyTorch was imported."
        return Verdict(text, None, notes=_notes(ended))
    verdict = judge_ranks(trained) if len(trained) > 1 else judge((trained or ended.facts)[0])
    verdict.notes += _notes(
        ended, 0 if verdict.ranks else len(trained), verdict.figures is not None
    )
    return verdict


def _notes(ended: CommandResult, trained: int = 0, has_figures: bool = False) -> list[str]:
    out = [f"facts left out: {error}" for error in ended.unreadable]
    if trained > 1:
        out.append(f"{trained} processes train; the figures are from the first one")
    covered = "; the verdict covers the steps before" if has_figures else ""
    if ended.code > 128:
        out.append(f"signal {ended.code - 128} ended the script{covered}")
    elif ended.code:
        out.append(f"the script ended with exit code {ended.code}{covered}")
    unseen = not ended.facts and not ended.unreadable
    if unseen and ended.code <= 128 and not ended.interrupted:
        out.append("python -I, -E and -S disable the doctor, and so does clearing PYTHONPATH")
    return out


def _report(verdict: Verdict, ended: CommandResult, options: Options) -> int:
    files = output_files(options)
    written: list[str] = []
    errors: list[str] = []
    if files or options.json:
        values = _values(verdict, ended, options)
        written, errors = _write_files(files, values, options.html)
    if options.json:
        print_json(values)
    elif not options.quiet or errors:
        color = use_color(sys.stderr, options.no_color)
        text = verdict_text(verdict, color, has_unicode(sys.stderr), options.verbose)
        if written:
            text += f"  written: {', '.join(written)}\n"
        write_stderr(text)
    for error in errors:
        print_error(error, FAILED, no_color=options.no_color)
    if errors:
        return ended.code or FAILED
    not_tried = verdict.applied is not None and not verdict.applied["done"]
    return ended.code or (USAGE if not_tried else OK)


def _write_files(files: list[str], values: ReportJson, page: str) -> tuple[list[str], list[str]]:
    """Returns the files that were written, and error messages for the others."""
    written, errors = [], []
    for name in files:
        text = report_page(values) if name == page else json_text(values)
        try:
            # The file name may not be valid UTF-8.
            with open(name, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            written.append(name)
        except OSError as error:
            errors.append(f"{name}: {error.strerror or error}")
    return written, errors


def _values(verdict: Verdict, ended: CommandResult, options: Options) -> ReportJson:
    values = verdict.as_json()
    values["processes"], values["exit"] = len(ended.facts), ended.code
    values["command"] = shlex.join(options.command)
    values.update(origin())  # type: ignore[typeddict-item]
    return values
