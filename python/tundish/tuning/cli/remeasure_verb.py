"""The command `tundish tune remeasure`: checks whether a step is still as fast as its saved plan says."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from ..._c.errors import ArgumentError
from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_seed, add_slower_than
from ..._cli.error_output import print_error
from ..._cli.exit_codes import FAILED, OK
from ..._cli.json_output import print_json
from ..._cli.terminal import write_stdout
from ..._cli.verb import run_verb
from ..search.minutes import REMEASURE_MINUTES
from ..search.plan_comparison import compare_with_plan
from .tune_options import add_custom_trick, add_job
from .verb_run import FAILURES, import_tuner, noted_interrupts, shown_progress

_HELP = VerbHelp(
    verb="tune remeasure",
    usage="PLAN FILE:FUNCTION [options]",
    examples="""\
tundish tune remeasure plan.json train.py:build
tundish tune remeasure plan.json train.py:build --slower-than 5 || echo slower""",
    text="""\
Measures the tricks of a saved plan once more and checks their numerics. For CI: the exit
code says whether the step became slower than it was when the plan was saved, or whether
its numbers are wrong now. On another GPU it compares the gains over the baseline instead,
because both were measured on one machine.""",
    json="{ok, text, slower_percent, limit_percent, saved_step_ms, step_ms, gains, report}",
    exit_codes="""\
0 done, not slower; 1 slower, wrong numbers, or failed; 2 wrong use, a file that is not a
plan, or a job that does not train; 130 interrupted""",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP)
    missing = "PLAN is missing\n  fix: tundish tune remeasure plan.json train.py:build"
    arguments.positional("PLAN", "plan", "a plan that tundish tune saved", missing)
    add_job(arguments)
    add_slower_than(arguments, 3.0)
    arguments.flag("--quick", "fewer steps, about a third of the time")
    add_seed(arguments, "seed of the weights and the batches")
    add_custom_trick(arguments, "a trick of your own that the plan has")
    return arguments


ARGUMENTS = _arguments()


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    interrupted = "interrupted before the plan was measured"
    return run_verb(ARGUMENTS, argv, _remeasure, interrupted=interrupted, failures=FAILURES)


def _remeasure(options: Options) -> int:
    tuner = import_tuner("tundish.tuning.tune")
    from ..plan import load_plan

    if not os.path.isfile(options.plan):
        fix = f"tundish tune {options.job} -o {options.plan}"
        raise ArgumentError(f"{options.plan}: no such file\n  fix: save a plan: {fix}")
    plan = load_plan(options.plan, options.custom_trick)
    with noted_interrupts(), shown_progress(options, REMEASURE_MINUTES) as progress:
        for change in plan.changes():
            progress.note(f"since the plan was saved: {change}")
        now = tuner.measure_plan(
            options.job, plan, seed=options.seed, quick=options.quick, progress=progress
        )
    now.command = shlex.join(options.argv)
    tricks = [trick.as_json() for trick in plan.tricks]
    found = compare_with_plan(tricks, plan.report, now, options.slower_than)
    if options.json:
        print_json(found.as_json(now))
        return OK if found.ok else FAILED
    if not options.quiet:
        write_stdout(f"  {'ok' if found.ok else found.word:<9} {found.text}\n")
    if found.ok:
        return OK
    return print_error(f"{options.plan}: {found.text}", FAILED, no_color=options.no_color)
