"""The words of `tundish check`: options, help that starts with an example, mistakes explained."""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

from ..._c.close_name import close_name
from ..._c.errors import ArgumentError

HELP = """\
examples:
  tundish check train.py
  tundish check src/ notebooks/ --ignore torchscript
  tundish check --explain item-in-loop
  tundish check src/ --sarif findings.sarif

usage: tundish check FILE|FOLDER... [options]

Reads training scripts and names the lines that make them slow or wrong: waiting for
the GPU in every step, loaders without pinned memory, evaluation that records a graph,
gradients that are added up unscaled, calls that torch left behind. Nothing is run or
imported; a file takes less than a second. In unit tests only errors are looked for,
unless --select names checks. A comment silences a line:
  total += loss.item()  # tundish: ignore[item-in-loop]

  FILE|FOLDER            Python files, notebooks (.ipynb), folders with such files
      --select A,B       do only these checks
      --ignore A,B       do all but these
      --list             list the checks, one line each
      --explain ID       why a check matters, and what to write instead
      --sarif FILE       also write SARIF 2.1.0, for code review
      --json             print JSON on stdout, for programs
  -q, --quiet            print errors and the exit code only
      --no-color         no colours (also: the variable NO_COLOR)
  -h, --help             print this

with --json:
{version, files, findings, not_checked, unused_suppressions, suppressed, seconds,
test_files}; findings is an array of {check, level, file, cell, line, column, end_line,
end_column, text, why, remedy, page, excerpt}: lines and columns count from 1, cell is
null outside notebooks, level is error (results are wrong), warning (time or memory is
lost) or note. not_checked is an array of {file, line, reason, fix}, unused_suppressions
of {file, cell, line, ids}. test_files counts the unit tests. With --list: an array of {check, level, title, why, remedy, page}

exit codes: 0 done, nothing but notes found; 1 findings; 2 wrong use, or the file of
--sarif cannot be written; 3 a file could not be checked (syntax error, not UTF-8); 130
interrupted
"""
SEE = "\n  see: tundish help check"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message + SEE)


def parse(words: list[str]) -> argparse.Namespace:
    """The options. ArgumentError says what is wrong with them."""
    parser = _Parser(prog="tundish check", add_help=False, allow_abbrev=False)
    parser.add_argument("paths", metavar="FILE", nargs="*", default=[])
    parser.add_argument("--select", type=_names, default=[])
    parser.add_argument("--ignore", type=_names, default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--explain", metavar="ID", default="")
    parser.add_argument("--sarif", metavar="FILE", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    options, unknown = parser.parse_known_args(words)
    if unknown:
        known = [name for action in parser._actions for name in action.option_strings]
        near = close_name(unknown[0].partition("=")[0], known)
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"what is {unknown[0]!r}?{hint}{SEE}")
    if not options.paths and not options.list and not options.explain:
        raise ArgumentError("FILE or FOLDER is missing\n  fix: tundish check train.py" + SEE)
    folder = os.path.dirname(os.path.abspath(options.sarif))
    if options.sarif and not os.path.isdir(folder):
        raise ArgumentError(f"--sarif {options.sarif}: there is no folder {folder}")
    if options.sarif and options.sarif.endswith((".py", ".ipynb")):
        raise ArgumentError(f"--sarif {options.sarif}: this is a script, and would be replaced")
    return options


def _names(word: str) -> list[str]:
    return [one.strip() for one in word.split(",") if one.strip()]
