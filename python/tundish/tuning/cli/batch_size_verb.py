"""The command `tundish tune batch-size`: finds the smallest batch size with nearly the best samples/s."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_seed
from ..._cli.exit_codes import OK
from ..._cli.json_output import print_json
from ..._cli.option_values import name_list
from ..._cli.terminal import write_stdout
from ..._cli.verb import run_verb
from ...report.machine import machine, versions
from .tune_options import add_job, add_memory, check_tricks
from .verb_run import FAILURES, import_tuner, noted_interrupts, shown_progress, trick_names

_HELP = VerbHelp(
    verb="tune batch-size",
    usage="FILE:FUNCTION [options]",
    examples="""\
tundish tune batch-size train.py:build
tundish tune batch-size train.py:build --memory 40GiB --select bf16,tf32""",
    text="""\
Measures the training step at several batch sizes and finds the smallest one with about
the best samples per second. A larger batch needs another learning rate:
docs/tune.md.""",
    json="""\
{batch, points, stopped, samples_per_update, micro_batch, accumulate, noise, low, high, device,
machine, versions, command}; points is an array of {batch, samples_per_s, step_ms,
peak_bytes}""",
    exit_codes="0 done, 1 failed, 2 wrong use or a job that does not train, 130 interrupted",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP)
    add_job(arguments)
    add_memory(arguments)
    about = "measure the step with these tricks (none); docs/tricks.md has the names"
    arguments.option("--select", "A,B", about, name_list("trick"), [])
    add_seed(arguments, "seed of the weights and the batches")
    return arguments


ARGUMENTS = _arguments()


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    interrupted = "interrupted before there was a batch size"
    return run_verb(ARGUMENTS, argv, _find, interrupted=interrupted, failures=FAILURES)


def _find(options: Options) -> int:
    finder = import_tuner("tundish.tuning.search.batch_size")
    check_tricks(options.select, trick_names())
    from ..tricks import TRICKS

    with noted_interrupts(), shown_progress(options) as progress:
        report = finder.find_batch_size(
            options.job,
            memory=options.memory,
            tricks=[kind() for kind in TRICKS if kind.name in options.select],
            seed=options.seed,
            progress=progress,
        )
    if options.json:
        origin = {"machine": machine(), "versions": versions()}
        print_json({**report.as_json(), **origin, "command": shlex.join(options.argv)})
    elif not options.quiet:
        write_stdout(f"{report}\ndevice: {report.device}\n")
    return OK
