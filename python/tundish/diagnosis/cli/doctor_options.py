"""The options of `tundish doctor`, and whether its files can be written."""

from __future__ import annotations

import os

from ..._c.errors import ArgumentError
from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.error_output import UsageError
from ..._cli.option_values import choice, whole_number
from ..verdict.figures import LEAST_STEPS
from .apply_option import change_of, plan_of
from .recording_options import TABLES, check_recordings

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
Runs a training script as it is, for some steps, and says in one sentence what bounds
its step: waiting for data (and which stage of loading), copies, host code, another
rank, or the model. Then: the step if loading were free, measured with cached batches;
what to change, best first, with the predicted step. When all is measured, the script is
ended, because some of its steps saw cached batches. The verdict is on stderr; the
script has stdout to itself.

tundish help doctor compare has the options of the comparison. tundish env looks at the
machine.""",
    json="""\
{version, sentence, cause, figures, changes, loading, loader, lines, steps, overhead_s,
phase, torch, gpu, layers, layers_why, notes, ranks, findings, applied, tables, memory,
timeline, processes, exit, command, machine, versions, environment};
docs/doctor-json.md describes every key. cause.name is one of storage, decode,
transform, dataset, collate, workers, loader, copy, communication, straggler, host,
sync, launch, compute; cause and figures are null without a step. Times are seconds of a
step. exit is the script's exit code.""",
    exit_codes="""\
0 done, all was measured and the script was ended; 1 the verdict could not be written to
its file; 2 wrong use, or the change of --apply could not be tried; 127 the command
cannot be started; else the script's own, 128 + n after signal n (130: Ctrl-C, with the
verdict so far)""",
    json_about="print JSON on stdout, and the script's own output on stderr",
    quiet_about="print errors only (with -o)",
)


def _arguments() -> Arguments:
    arguments = Arguments(
        _HELP, command_after_dashes=True, check=_check_options, sub_verbs=["compare"]
    )
    about = "measure N steps, 5 or more (otherwise: 20 or more, 4 s or more)"
    arguments.option("--steps", "N", about, whole_number(LEAST_STEPS, MOST_STEPS), 0)
    arguments.flag("--to-end", "let the script run to its end")
    arguments.option("--apply", "CHANGE", """run it again with a change; compare with the
        prediction: workers=N, accelerate, plan=FILE, or its number in the list""")  # fmt: skip
    about = "a plan of tundish tune is one of the changes, for --apply"
    arguments.option("--plan", "FILE", about)
    arguments.flag("--no-layers", "no steps in which the layers of the model are measured")
    arguments.flag("--no-replay", "no steps with cached batches: the ceiling is computed")
    about = "also write the verdict as JSON, for doctor compare"
    arguments.option("-o,--output", "FILE", about)
    about = "also write an HTML page, and the JSON beside it"
    arguments.option("--html", "FILE", about)
    about = """also write a timeline of 5 steps, for ui.perfetto.dev: loader, workers,
        torch's profiler, on one clock"""
    arguments.option("--timeline", "FILE", about)
    about = """also print a table: simple (parts of a step) or advanced (and functions of
        the host, by cProfile)"""
    arguments.option("--table", "KIND", about, choice(*TABLES), "")
    about = "also say which lines hold how much memory at the peak of a step"
    arguments.flag("--memory", about)
    about = "print every layer (time, FLOPs, bytes, share of the roof), not the slowest five"
    arguments.flag("-v,--verbose", about)
    return arguments


def _check_options(options: Options) -> None:
    if not options.command:
        raise UsageError("the command is missing\n  fix: tundish doctor -- python train.py")
    if options.verbose and options.no_layers:
        raise UsageError("-v and --no-layers: which of the two?")
    _check_change(options)
    check_file("--output", options.output)
    check_file("--html", options.html)
    for beside in {*files_of(options)} - {options.output, options.html}:
        check_file("--html", beside)
    check_file("--timeline", options.timeline)
    check_recordings(options.timeline, options.table)
    if options.timeline and options.timeline in files_of(options):
        raise UsageError(f"--timeline {options.timeline}: the JSON of the verdict has this name")
    if options.html and not options.html.endswith((".html", ".htm")):
        raise UsageError(f"--html {options.html}: the report is a page\n  fix: .html at the end")


def _check_change(options: Options) -> None:
    """--apply and --plan; `--apply plan=FILE` is both."""
    if options.apply:
        options.apply = change_of(options.apply)
    plan = plan_of(options.apply)
    if plan and options.plan and os.path.abspath(options.plan) != plan:
        raise UsageError(f"--plan {options.plan} and --apply plan={plan}: which of the two?")
    options.plan = options.plan or plan
    if options.plan and not os.path.isfile(options.plan):
        raise ArgumentError(f"--plan {options.plan}: there is no such file")


def files_of(options: Options) -> list[str]:
    """Returns the files that the verdict is written to. The page has its JSON beside it."""
    beside = [os.path.splitext(options.html)[0] + ".json"] if options.html else []
    wanted = [options.output, *beside, options.html]
    return list(dict.fromkeys(name for name in wanted if name))


def check_file(option: str, file: str) -> None:
    """Raises ArgumentError where `file` cannot be written, before the script runs."""
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
    """Opens the file and changes nothing: permissions are no proof on a read-only file system."""
    if not os.path.lexists(file):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(file)
    elif os.path.isfile(file):  # a pipe or a device is left alone
        os.close(os.open(file, os.O_WRONLY | os.O_APPEND))


ARGUMENTS = _arguments()
