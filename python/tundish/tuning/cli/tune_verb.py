"""The command `tundish tune`: prints results to stdout, messages and progress to stderr."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from ..._c.errors import ArgumentError
from ..._cli.arguments import Options
from ..._cli.exit_codes import INTERRUPTED, OK
from ..._cli.json_output import print_json
from ..._cli.terminal import use_color, write_stdout
from ..._cli.verb import run_verb
from ..report.tuning_text import report_text
from ..search.minutes import limit_of
from . import batch_size_verb as batch_size_cli
from . import remeasure_verb as remeasure_cli
from .tune_options import ARGUMENTS, DEFAULT_OUTPUT, check_tricks
from .verb_run import FAILURES, import_tuner, noted_interrupts, shown_progress, trick_names

SUB_VERBS = {"remeasure": remeasure_cli.main, "batch-size": batch_size_cli.main}


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    if argv and argv[0] in SUB_VERBS:
        return SUB_VERBS[argv[0]](argv[1:])
    interrupted = "interrupted before there was a plan"
    return run_verb(ARGUMENTS, argv, _tune, interrupted=interrupted, failures=FAILURES)


def _tune(options: Options) -> int:
    tuner = import_tuner("tundish.tuning.tune")
    output = options.output or DEFAULT_OUTPUT
    check_tricks([*(options.select or []), *options.ignore], trick_names())
    _check_output(output)
    minutes = limit_of(options.minutes, options.quick)
    with noted_interrupts() as interrupts, shown_progress(options, minutes) as progress:
        plan = tuner.tune(
            options.job,
            seed=options.seed,
            quick=options.quick,
            minutes=options.minutes,
            select=options.select,
            ignore=options.ignore,
            custom_tricks=options.custom_trick,
            memory=options.memory,
            progress=progress,
        )
    plan.report.command = shlex.join(options.argv)
    plan.save(output)
    if options.html:
        from ..report.tuning_page import report_page

        with open(options.html, "w", encoding="utf-8", errors="replace") as file:
            file.write(report_page(plan.report, plan, output))
    if options.json:
        print_json(plan.report.as_json())
    elif not options.quiet:
        color = use_color(sys.stdout, options.no_color)
        text = "\n" + report_text(plan.report, _columns(), color, output)
        if options.html:
            text += f"  {'page':<9} {options.html}\n"
        write_stdout(text)
    return INTERRUPTED if interrupts else OK


def _check_output(path: str) -> None:
    """Raises ArgumentError if the plan file cannot be written. Called before the long run starts."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(
            f"{path}: no file can be made in {folder}\n  fix: choose another name with -o"
        )


def _columns() -> int:
    return shutil.get_terminal_size(fallback=(120, 24)).columns
