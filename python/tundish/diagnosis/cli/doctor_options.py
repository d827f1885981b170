"""The options of `tundish doctor`, and checks that the output files can be written."""

from __future__ import annotations

import os

from ..._c.errors import ArgumentError
from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_force, check_replaceable
from ..._cli.error_output import UsageError
from ..._cli.option_values import choice, whole_number
from ..recording_options import TABLES, check_recordings
from ..verdict.figures import LEAST_STEPS
from .apply_option import parse_change, plan_file

MOST_STEPS = 10**9
_HELP = VerbHelp(
    verb="doctor",
    usage="""\
[options] -- COMMAND [ARGUMENT...]
compare BEFORE.json AFTER.json [options]""",
    examples="""\
tundish doctor -- python train.py --epochs 1
tundish doctor --html report.html -- torchrun --nproc-per-node 2 train.py
tundish doctor compare before.json after.json""",
    text="""\
Runs a training script unmodified for some steps and reports in one sentence what
bounds its step: waiting for data (and which stage of loading), copies, host code,
another rank, or the model. Then: the step if loading were free, measured with cached
batches, and what to change, best first, with the predicted step. The script is ended
once everything is measured, because some of its steps trained on cached batches. The
verdict goes to stderr; stdout belongs to the script.

See tundish help doctor compare for the options of the comparison. tundish env checks
the machine.""",
    json="""\
{version, sentence, cause, figures, changes, loading, loader, lines, steps, overhead_s,
phase, torch, gpu, layers, layers_missing_reason, notes, ranks, findings, applied,
tables, memory, timeline, processes, exit, command, machine, versions, environment};
docs/doctor-json.md describes every key. cause.name is one of storage, decode,
transform, dataset, collate, workers, loader, copy, communication, straggler, host,
sync, launch, compute; cause and figures are null without a step. Times are seconds of a
step. exit is the script's exit code.""",
    exit_codes="""\
0 done, everything was measured and the script was ended; 1 the verdict could not be
written to its file; 2 wrong use, or the change of --apply could not be tried; 127 the
command cannot be started; otherwise the script's own, 128 + n after signal n (130:
Ctrl-C, with the verdict so far)""",
    json_about="print JSON on stdout, and the script's own output on stderr",
    quiet_about="print errors only (with -o)",
)


def _arguments() -> Arguments:
    arguments = Arguments(
        _HELP, command_after_dashes=True, check=_check_options, sub_verbs=["compare"]
    )
    about = "measure N steps, 5 or more (default: at least 20 steps and 4 s)"
    arguments.option("--steps", "N", about, whole_number(LEAST_STEPS, MOST_STEPS), 0)
    arguments.flag("--to-end", "let the script run to completion")
    arguments.option("--apply", "CHANGE", """run again with a change and compare with the
        prediction: workers=N, accelerate, plan=FILE, or its number in the list""")  # fmt: skip
    about = "list a plan of tundish tune as one of the changes"
    arguments.option("--plan", "FILE", about)
    arguments.flag("--no-layers", "do not measure the layers of the model")
    arguments.flag("--no-cached-batches", "no steps with cached batches: compute the ceiling")
    about = "also write the verdict as JSON, for doctor compare"
    arguments.option("-o,--output", "FILE", about)
    about = "also write an HTML page, and the JSON beside it"
    arguments.option("--html", "FILE", about)
    add_force(arguments)
    about = """also write a timeline of 5 steps, for ui.perfetto.dev: loader, workers,
        torch's profiler, on one clock"""
    arguments.option("--timeline", "FILE", about)
    about = """also print a table: simple (parts of a step) or advanced (also functions of
        the host, from cProfile)"""
    arguments.option("--table", "KIND", about, choice(*TABLES), "")
    about = "also show which lines hold how much memory at the peak of a step"
    arguments.flag("--memory-lines", about)
    about = "print every layer (time, FLOPs, bytes, share of the roof), not only the slowest five"
    arguments.flag("-v,--verbose", about)
    return arguments


def _check_options(options: Options) -> None:
    if not options.command:
        raise UsageError("the command is missing\n  fix: tundish doctor -- python train.py")
    if options.verbose and options.no_layers:
        raise UsageError("-v and --no-layers cannot be combined")
    _check_change(options)
    check_file("--output", options.output, options.force)
    check_file("--html", options.html, options.force)
    for beside in {*output_files(options)} - {options.output, options.html}:
        check_file("--html", beside, options.force)
    check_file("--timeline", options.timeline, options.force)
    check_recordings(options.timeline, options.table)
    if options.timeline and any(
        _are_same(options.timeline, name) for name in output_files(options)
    ):
        raise UsageError(
            f"--timeline {options.timeline}: this is also the JSON file of the verdict"
        )
    if options.html and options.output and _are_same(options.html, options.output):
        raise UsageError(f"--html {options.html}: this is also the JSON file of --output")
    if options.html and not options.html.endswith((".html", ".htm")):
        raise UsageError(
            f"--html {options.html}: the report is an HTML page\n  fix: end the name with .html"
        )


def _are_same(file: str, other: str) -> bool:
    return os.path.realpath(file) == os.path.realpath(other)


def _check_change(options: Options) -> None:
    """Validates --apply and --plan. `--apply plan=FILE` also sets --plan."""
    if options.apply:
        options.apply = parse_change(options.apply)
    plan = plan_file(options.apply)
    if plan and options.plan and os.path.abspath(options.plan) != plan:
        raise UsageError(f"--plan {options.plan} and --apply plan={plan} cannot be combined")
    options.plan = options.plan or plan
    if options.plan and not os.path.isfile(options.plan):
        raise ArgumentError(f"--plan {options.plan}: no such file")


def output_files(options: Options) -> list[str]:
    """Returns the files to write the verdict to. An HTML page is accompanied by a JSON file."""
    beside = [os.path.splitext(options.html)[0] + ".json"] if options.html else []
    wanted = [options.output, *beside, options.html]
    return list(dict.fromkeys(name for name in wanted if name))


def check_file(option: str, file: str, force: bool) -> None:
    """Raises ArgumentError if `file` cannot be written or replaced. Must run before the script starts."""
    if not file:
        return
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise ArgumentError(f"{option} {file}: there is no folder {folder}")
    if os.path.isdir(file):
        raise ArgumentError(f"{option} {file}: is a folder\n  fix: name a file in it")
    if file.endswith((".py", ".ipynb")):
        raise ArgumentError(f"{option} {file}: is a script and would be overwritten")
    check_replaceable(option, file, force)
    try:
        _probe_writable(file)
    except OSError as error:
        raise ArgumentError(f"{option} {file}: cannot be written: {error.strerror}") from None


def _probe_writable(file: str) -> None:
    """Opens the file without changing it, because permissions do not reveal a read-only file system."""
    if not os.path.lexists(file):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(file)
    elif os.path.isfile(file):  # pipes and devices are not opened
        os.close(os.open(file, os.O_WRONLY | os.O_APPEND))


ARGUMENTS = _arguments()
