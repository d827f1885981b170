"""The command `tundish doctor compare`: compares the step times in two reports."""

from __future__ import annotations

from collections.abc import Sequence

from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_slower_than
from ..._cli.exit_codes import FAILED, OK
from ..._cli.json_output import print_json
from ..._cli.terminal import printable_lines, write_stdout
from ..._cli.verb import run_verb
from ..report.comparison import compare, comparison_text, read_report

_HELP = VerbHelp(
    verb="doctor compare",
    usage="BEFORE.json AFTER.json [options]",
    examples="""\
tundish doctor compare before.json after.json
tundish doctor compare --slower-than 2 main.json branch.json || echo slower""",
    text="""\
Compares two reports written by `tundish doctor -o FILE`: the step and its parts. For
CI: the exit code reports whether the step became slower by more than --slower-than.""",
    json="""\
{version, before_s, after_s, change, threshold, slower, parts, ceilings, causes,
sentences, notes}; seconds of a step; change and threshold are relative (0.05: five
percent slower); parts, ceilings, causes and sentences have the value before and the
value after.""",
    exit_codes="0 done, not slower; 1 slower; 2 wrong use, or a file that is not a report",
    quiet_about="print errors and the exit code only",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP)
    for name, target in (("BEFORE.json", "before"), ("AFTER.json", "after")):
        missing = f"{name} is missing\n  fix: tundish doctor compare before.json after.json"
        arguments.positional(name, target, f"the report {target} the change", missing)
    add_slower_than(arguments, 5.0)
    return arguments


ARGUMENTS = _arguments()


def main(argv: Sequence[str]) -> int:
    """Runs the command with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _compare)


def _compare(options: Options) -> int:
    before, after = read_report(options.before), read_report(options.after)
    found = compare(before, after, options.slower_than / 100)
    if options.json:
        print_json(found.as_json())
    elif not options.quiet:
        write_stdout(printable_lines(comparison_text(found)) + "\n")  # may have control characters
    return FAILED if found.slower else OK
