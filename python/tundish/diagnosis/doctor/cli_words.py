"""The words of `tundish doctor`: options, help that starts with an example, mistakes explained."""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

from ..._c.close_name import close_name
from ..._c.errors import ArgumentError
from .apply_words import apply_word, plan_of
from .extra_words import add_extra_options, check_extras
from .figures import LEAST_STEPS

HELP = """\
examples:
  tundish doctor -- python train.py --epochs 1
  tundish doctor --report report.html -- torchrun --nproc-per-node 2 train.py

usage: tundish doctor [options] -- COMMAND [WORD...]

Runs a training script as it is, for some steps, and says in one sentence what bounds
its step: waiting for data (and which stage of loading), copies, host code, another
rank, or the model. Then: the step if loading were free, measured with cached batches;
what to change, best first, with the predicted step. When all is measured, the script is
ended, because some of its steps saw cached batches. The verdict is on stderr; the
script has stdout to itself.

      --steps N          measure N steps, 5 or more (otherwise: 20 or more, 4 s or more)
      --to-end           let the script run to its end
      --apply CHANGE     run it again with a change; compare with the prediction:
                         workers=N, accelerate, plan=FILE, or its number in the list
      --plan FILE        a plan of tundish tune is one of the changes, for --apply
      --layers           print every layer: time, FLOPs, bytes, share of the roof
      --no-layers        no steps in which the layers of the model are measured
      --no-replay        no steps with cached batches: the ceiling is computed
  -o, --output FILE      also write the verdict as JSON, for tundish compare
      --report FILE      also write the report, an HTML page, and the JSON beside it
      --timeline FILE    also write a timeline of 5 steps, for ui.perfetto.dev: loader,
                         workers, torch's profiler, on one clock
      --table KIND       also print a table: simple (parts of a step) or advanced (and
                         functions of the host, by cProfile)
      --memory           also say which lines hold how much memory at the peak of a step
      --env [DATA]       look at the machine instead: tundish help doctor --env
      --json             print JSON on stdout, and the script's own output on stderr
  -q, --quiet            print errors only (with -o)
      --no-color         no colours (also: the variable NO_COLOR)
  -h, --help             print this

with --json:
{version, sentence, cause, figures, changes, loading, loader, lines, steps, overhead_s,
phase, torch, gpu, layers, layers_why, notes, ranks, findings, applied, tables, memory,
timeline, processes, exit, command, machine, versions, environment};
docs/doctor-report.md describes every key. cause.name is one of
storage, decode, transform, dataset, collate, workers, loader, copy, communication,
straggler, host, sync, launch, compute; cause and figures are null without a step. Times
are seconds of a step. exit is the script's exit code.

exit codes: 0 done, all was measured and the script was ended; 1 the verdict could not
be written to its file; 2 wrong use, or the change of --apply could not be tried; 127
the command cannot be started; else the script's own, 128 + n after signal n (130:
Ctrl-C, with the verdict so far)
"""
SEE = "\n  see: tundish help doctor"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message + SEE)


def parse(words: list[str]) -> argparse.Namespace:
    """The options, and the command as `command`. ArgumentError says what is wrong with them."""
    if "--" in words:
        cut = words.index("--")
        ours, command = words[:cut], words[cut + 1 :]
    else:
        ours, command = words, []
    parser = _Parser(prog="tundish doctor", add_help=False, allow_abbrev=False)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--to-end", action="store_true")
    parser.add_argument("--apply", metavar="CHANGE", default="")
    parser.add_argument("--plan", metavar="FILE", default="")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--no-layers", action="store_true")
    parser.add_argument("--no-replay", action="store_true")
    parser.add_argument("-o", "--output", metavar="FILE", default="")
    parser.add_argument("--report", metavar="FILE", default="")
    add_extra_options(parser)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    options, unknown = parser.parse_known_args(ours)
    if unknown:
        known = [name for action in parser._actions for name in action.option_strings]
        near = close_name(unknown[0].partition("=")[0], known)
        hint = f"; did you mean {near}?" if near else ""
        if not unknown[0].startswith("-"):
            hint = f"\n  fix: tundish doctor -- {' '.join(unknown)}"
        raise ArgumentError(f"what is {unknown[0]!r}?{hint}{SEE}")
    if not command:
        raise ArgumentError(
            "the command is missing\n  fix: tundish doctor -- python train.py" + SEE
        )
    if options.steps is not None and options.steps < LEAST_STEPS:
        raise ArgumentError(f"--steps {options.steps}: at least 5 steps make a verdict" + SEE)
    options.steps = options.steps or 0
    if options.layers and options.no_layers:
        raise ArgumentError("--layers and --no-layers: which of the two?" + SEE)
    _check_change(options)
    check_file("--output", options.output)
    check_file("--report", options.report)
    for beside in {*files_of(options)} - {options.output, options.report}:
        check_file("--report", beside)
    check_file("--timeline", options.timeline)
    check_extras(options.timeline, options.table)
    if options.timeline and options.timeline in files_of(options):
        raise ArgumentError(f"--timeline {options.timeline}: the JSON of the verdict has this name")
    if options.report and not options.report.endswith((".html", ".htm")):
        raise ArgumentError(
            f"--report {options.report}: the report is a page\n  fix: .html at the end"
        )
    options.command = command
    return options


def _check_change(options: argparse.Namespace) -> None:
    """--apply and --plan; `--apply plan=FILE` is both."""
    if options.apply:
        options.apply = apply_word(options.apply)
    plan = plan_of(options.apply)
    if plan and options.plan and os.path.abspath(options.plan) != plan:
        raise ArgumentError(f"--plan {options.plan} and --apply plan={plan}: which of the two?")
    options.plan = options.plan or plan
    if options.plan and not os.path.isfile(options.plan):
        raise ArgumentError(f"--plan {options.plan}: there is no such file")


def files_of(options: argparse.Namespace) -> list[str]:
    """What the verdict is written to. The report has its JSON beside it."""
    beside = [os.path.splitext(options.report)[0] + ".json"] if options.report else []
    wanted = [options.output, *beside, options.report]
    return list(dict.fromkeys(name for name in wanted if name))


def check_file(option: str, file: str) -> None:
    """Before the script runs: whether what it measures can be written."""
    if not file:
        return
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise ArgumentError(f"{option} {file}: there is no folder {folder}")
    if os.path.isdir(file):
        raise ArgumentError(f"{option} {file}: this is a folder\n  fix: a name of a file in it")
    if file.endswith((".py", ".ipynb")):
        raise ArgumentError(f"{option} {file}: this is a script, and would be replaced")
    try:
        _try_to_write(file)
    except OSError as error:
        raise ArgumentError(f"{option} {file}: cannot be written: {error.strerror}") from None


def _try_to_write(file: str) -> None:
    """Nothing is changed. Permissions do not tell: of root, or of a file system that is only for reading."""
    if not os.path.lexists(file):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(file)
    elif os.path.isfile(file):  # a pipe or a device is left alone
        os.close(os.open(file, os.O_WRONLY | os.O_APPEND))
