"""The options of `tundish tune` and its subcommands."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..._c.close_name import close_name
from ..._c.errors import ArgumentError
from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import (
    add_force,
    add_seed,
    add_select_ignore,
    check_replaceable,
)
from ..._cli.error_output import UsageError
from ..._cli.option_values import memory_size, positive_number
from ..memory.memory_limit import limit_bytes

DEFAULT_OUTPUT = "plan.json"

_HELP = VerbHelp(
    verb="tune",
    usage="""\
FILE:FUNCTION [options]
remeasure PLAN FILE:FUNCTION [options]
batch-size FILE:FUNCTION [options]""",
    examples="""\
tundish tune train.py:build
tundish tune train.py:build -o plan.json --html report.html
tundish tune remeasure plan.json train.py:build
tundish tune batch-size train.py:build --memory 40GiB""",
    text="""\
Tries training tricks on your own model and keeps those that make the step faster while
it still trains to the same numbers: TF32, bf16 and fp16, channels_last, torch.compile,
CUDA graphs, fused optimizers and others. FUNCTION takes no argument and returns model,
optimizer, loss_fn, batch. Each trial runs in its own process; your files are not
changed.

See tundish help tune remeasure and tundish help tune batch-size for the options of the
other two.""",
    json="""\
{job, model, optimizer, batch, samples, device, baseline, rows, gains, twin, seconds,
finished, notes, timeline, machine, versions, command}; rows is an array of {label,
phase, tricks, verdict, step_ms, measured_ms, host_ms, host_bound, compared_with, gain,
low, high, turns, peak_bytes, one_off_s, break_even_steps, numerics, grade, judged}""",
    exit_codes="""\
0 done; 1 failed, or no time for a single trial: no plan is saved; 2 wrong use or a job
that does not train; 130 interrupted: the best plan so far is saved""",
)


def add_job(arguments: Arguments) -> None:
    missing = (
        "FILE:FUNCTION is missing: the function that returns model, optimizer, loss_fn, batch\n"
        f"  fix: tundish {arguments.verb} train.py:build"
    )
    about = "the function that makes your model: train.py:build"
    arguments.positional("FILE:FUNCTION", "job", about, missing)


def add_custom_trick(arguments: Arguments, about: str) -> None:
    text = f"{about} (docs/tricks.md); may be repeated"
    arguments.option("--custom-trick", "FILE:CLASS", text, repeated=True)


def add_memory(arguments: Arguments) -> None:
    about = "limit of the device's memory, which the step must fit into: 40GiB"
    arguments.option("--memory", "SIZE", about, memory_size(limit_bytes))


def _arguments() -> Arguments:
    arguments = Arguments(_HELP, check=_check_options, sub_verbs=["remeasure", "batch-size"])
    add_job(arguments)
    arguments.option("-o,--output", "FILE", "where to save the plan (plan.json)")
    arguments.option("--html", "FILE", "also write a page with charts")
    add_force(arguments)
    arguments.flag("--quick", "fewer variants, about a third of the time")
    about = "end after this time with the best plan so far"
    arguments.option("--minutes", "MINUTES", about, positive_number())
    add_seed(arguments, "seed of the weights and the batches")
    add_select_ignore(arguments, "trick", "docs/tricks.md has the names")
    add_custom_trick(arguments, "also try a trick of your own")
    add_memory(arguments)
    return arguments


def _check_options(options: Options) -> None:
    both = sorted(set(options.select or ()) & set(options.ignore))
    if both:
        raise UsageError(f"{both[0]} is in --select and in --ignore")
    for name in (options.output, options.html):
        folder = os.path.dirname(os.path.abspath(name))
        if name and not os.path.isdir(folder):
            raise UsageError(f"{name}: there is no folder {folder}")
    check_replaceable("--output", options.output or DEFAULT_OUTPUT, options.force)
    check_replaceable("--html", options.html, options.force)


def check_tricks(names: Sequence[str], known: Sequence[str]) -> None:
    """Raises ArgumentError for an unknown trick name. Not used for --help, because the names need torch."""
    for name in names:
        if name not in known:
            near = close_name(name, known)
            hint = f"; did you mean {near}?" if near else ""
            fix = f"use one of {', '.join(known)}"
            raise ArgumentError(f"unknown trick {name!r}{hint}\n  fix: {fix}")


ARGUMENTS = _arguments()
