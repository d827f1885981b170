"""The words of `tundish tune`: options, help that starts with an example, mistakes explained."""

from __future__ import annotations

import argparse
import difflib
import math
import os
from typing import NoReturn

from .._c.errors import ArgumentError

HELP = """\
examples:
  tundish tune train.py:build
  tundish tune train.py:build -o plan.json --html report.html
  tundish tune train.py:build --check plan.json
  tundish tune train.py:build --batch-size --memory 40

usage: tundish tune FILE:FUNCTION [options]

Tries every known training trick on your own model, checks that it still trains
to the same numbers, and keeps what makes the step faster: TF32, bf16 and fp16,
channels_last, torch.compile, CUDA graphs, fused optimisers and others. FUNCTION
takes no argument and returns model, optimizer, loss_fn, batch. Each trial runs
in a process of its own; your files are not changed.

  FILE:FUNCTION          the function that makes your model, as in train.py:build
  -o, --output FILE      where to save the plan (plan.json)
      --html FILE        also write a page with charts
      --quick            fewer variants, about a third of the time
      --minutes M        end after this time with the best plan so far
      --seed N           of the weights and the batches (0)
      --tricks A,B       try only these; docs/tricks.md has the names
      --without A,B      try all but these
      --own FILE:CLASS   also try a trick of your own (docs/tricks.md); may be repeated
      --memory GB        the step must fit into this much memory of the GPU
      --check PLAN       measure a saved plan again; exit code 1 if it is slower
      --slower-than P    ... by more than P percent (3)
      --batch-size       instead: find the smallest batch with about the best samples/s,
                         within --memory, for a step with --tricks
      --json             print JSON on stdout, for programs
  -q, --quiet            print errors only
      --no-color         no colours (also: the variable NO_COLOR)
  -h, --help             print this

with --json:
{job, model, optimizer, batch, samples, device, baseline, rows, gains, twin, seconds,
finished, notes, timeline, machine, versions, command}; rows is an array of {label,
phase, tricks, verdict, step_ms, host_ms, host_bound, compared_with, gain, low, high,
turns, peak_bytes, one_off_s, break_even_steps, numerics, grade}. With --check: {ok,
text, slower_percent, limit_percent, saved_step_ms, step_ms, gains, report}. With
--batch-size: {batch, points, stopped, wanted, micro_batch, accumulate, noise, low,
high, device, machine, versions, command}; points is an array of {batch,
samples_per_s, step_ms, peak_bytes}

exit codes: 0 done, 1 failed or slower than the plan, 2 wrong use or a job that does not
train, 130 interrupted: the best plan so far is saved
"""
SEE = "\n  see: tundish help tune"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message + SEE)


def parse(words: list[str]) -> argparse.Namespace:
    """The options. ArgumentError says what is wrong with them."""
    parser = _Parser(prog="tundish tune", add_help=False, allow_abbrev=False)
    parser.add_argument("job", metavar="FILE:FUNCTION", nargs="?", default="")
    parser.add_argument("-o", "--output", default="")
    parser.add_argument("--html", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=_positive)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tricks", type=_names)
    parser.add_argument("--without", type=_names, default=[])
    parser.add_argument("--own", action="append", default=[])
    parser.add_argument("--memory", type=_positive)
    parser.add_argument("--check", metavar="PLAN", default="")
    parser.add_argument("--slower-than", type=_percent)
    parser.add_argument("--batch-size", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    options, unknown = parser.parse_known_args(words)
    if unknown:
        known = [name for action in parser._actions for name in action.option_strings]
        near = difflib.get_close_matches(unknown[0].partition("=")[0], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ArgumentError(f"what is {unknown[0]!r}?{hint}{SEE}")
    _check_together(options)
    return options


def _check_together(options: argparse.Namespace) -> None:
    """What argparse cannot see in one option alone."""
    if not options.job:
        raise ArgumentError(
            "FILE:FUNCTION is missing: the function that returns model, optimizer, loss_fn, batch\n"
            "  fix: tundish tune train.py:build" + SEE
        )
    if not options.check and options.slower_than is not None:
        raise ArgumentError("--slower-than is for --check PLAN" + SEE)
    if options.check:
        for name in ("output", "html", "minutes", "tricks", "without", "memory"):
            if getattr(options, name):
                flag = "-o" if name == "output" else f"--{name}"
                raise ArgumentError(f"{flag} cannot be used with --check: the plan is fixed" + SEE)
    if options.batch_size:
        for name in ("check", "output", "html", "quick", "minutes", "without", "own"):
            if getattr(options, name):
                flag = "-o" if name == "output" else f"--{name}"
                raise ArgumentError(
                    f"{flag} cannot be used with --batch-size, which measures one step at several sizes"
                    + SEE
                )
    both = sorted(set(options.tricks or ()) & set(options.without))
    if both:
        raise ArgumentError(f"{both[0]} is in --tricks and in --without" + SEE)
    for name in (options.output, options.html):
        folder = os.path.dirname(os.path.abspath(name))
        if name and not os.path.isdir(folder):
            raise ArgumentError(f"{name}: there is no folder {folder}")


def check_names(names: list[str], known: list[str]) -> None:
    """Of --tricks and --without; the known names need torch, so that parse() does not see them."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ArgumentError(
                f"no trick is called {name!r}{hint}\n  fix: use one of {', '.join(known)}"
            )


def _positive(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0")
    return value


def _percent(word: str) -> float:
    try:
        value = float(word.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{word!r} is not a percentage")
    return value


def _names(word: str) -> list[str]:
    names = [name.strip() for name in word.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no trick")
    return names
