"""`tundish compare`: the verb."""

from __future__ import annotations

import argparse
import json
import sys
from typing import NoReturn

from ..._c.errors import ArgumentError
from .compare import compare, comparison_text, read_report

OK, SLOWER, USAGE = 0, 1, 2
SEE = "\n  see: tundish help compare"
HELP = """\
examples:
  tundish compare before.json after.json
  tundish compare --threshold 2 main.json branch.json || echo slower

usage: tundish compare [options] BEFORE.json AFTER.json

Compares two reports that `tundish doctor -o FILE` wrote: the step and its parts. For
CI: the exit code tells whether the step became slower than a threshold.

      --threshold PERCENT  how much slower the step may be (5)
      --json               print JSON
  -h, --help               print this

with --json:
{version, before_s, after_s, change, threshold, slower, parts, ceilings, causes,
sentences, notes}; seconds of a step; change and threshold are relative (0.05: five
percent slower); parts, ceilings, causes and sentences have the value before and the
value after.

exit codes: 0 done, not slower than that; 1 slower; 2 wrong use, or a file that is no
report
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message + SEE)


def main(words: list[str]) -> int:
    """The verb with the words after it; the exit code."""
    if "--help" in words or "-h" in words:
        sys.stdout.write(HELP)
        return OK
    parser = _Parser(prog="tundish compare", add_help=False, allow_abbrev=False)
    parser.add_argument("--threshold", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("before", metavar="BEFORE.json")
    parser.add_argument("after", metavar="AFTER.json")
    try:
        options = parser.parse_args(words)
        if not 0 <= options.threshold <= 1000:
            raise ArgumentError(f"--threshold {options.threshold:g}: percent, from 0 to 1000{SEE}")
        before, after = read_report(options.before), read_report(options.after)
        found = compare(before, after, options.threshold / 100)
    except ArgumentError as error:
        print(f"tundish: {error}", file=sys.stderr, flush=True)
        if "--json" in words:
            message = {"code": None, "message": str(error), "exit": USAGE}
            print(json.dumps({"error": message}), flush=True)
        return USAGE
    if options.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        sys.stdout.write(comparison_text(found))
    sys.stdout.flush()
    return SLOWER if found.slower else OK
