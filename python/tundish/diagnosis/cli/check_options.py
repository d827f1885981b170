"""The options of `tundish check`."""

from __future__ import annotations

import os

from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_force, add_select_ignore, check_replaceable
from ..._cli.error_output import UsageError

_HELP = VerbHelp(
    verb="check",
    usage="FILE|FOLDER... [options]",
    examples="""\
tundish check train.py
tundish check src/ notebooks/ --ignore torchscript
tundish check --explain item-in-loop
tundish check src/ --sarif findings.sarif""",
    text="""\
Reads training scripts and lists the lines that make them slow or wrong: waiting for
the GPU in every step, loaders without pinned memory, evaluation that records a graph,
accumulated gradients without scaling, calls removed from torch. Nothing is run or
imported; a file takes less than a second. Unit tests and generated files are checked for
errors only, unless --select names checks. A comment suppresses a finding:

  total += loss.item()  # tundish: ignore[item-in-loop]
""",
    json="""\
{version, files, findings, not_checked, unused_suppressions, suppressed, seconds,
test_files, generated_files}; findings is an array of {check, level, file, cell, line,
column, end_line, end_column, text, reason, fix, page, excerpt}: lines and columns count
from 1, cell is null outside notebooks, level is error (results are wrong), warning (time
or memory is lost) or note. not_checked is an array of {file, line, reason, fix}, unused_suppressions
of {file, cell, line, ids}. test_files counts unit tests, generated_files files written by
a program. With --list: an array of {check, level, title, reason, fix, page}""",
    exit_codes="""\
0 done, no findings except notes; 1 findings; 2 wrong use, or the file of --sarif cannot
be written; 3 a file could not be checked (syntax error, not UTF-8); 130 interrupted""",
    quiet_about="print errors and the exit code only",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP, check=_check_options)
    about = "Python files, notebooks, folders of both"
    arguments.positionals("FILE|FOLDER", "paths", about)
    add_select_ignore(arguments, "check")
    arguments.flag("--list", "list the checks, one line each")
    arguments.option("--explain", "ID", "why a check matters, and what to write instead")
    arguments.option("--sarif", "FILE", "also write SARIF 2.1.0, for code review")
    add_force(arguments)
    return arguments


def _check_options(options: Options) -> None:
    if not options.paths and not options.list and not options.explain:
        raise UsageError("FILE or FOLDER is missing\n  fix: tundish check train.py")
    if not options.sarif:
        return
    folder = os.path.dirname(os.path.abspath(options.sarif))
    if not os.path.isdir(folder):
        raise UsageError(f"--sarif {options.sarif}: there is no folder {folder}")
    if options.sarif.endswith((".py", ".ipynb")):
        raise UsageError(f"--sarif {options.sarif}: is a script and would be overwritten")
    check_replaceable("--sarif", options.sarif, options.force)


ARGUMENTS = _arguments()
