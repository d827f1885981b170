"""The options of `tundish boost`."""

from __future__ import annotations

import os

from ..._c.close_name import close_name
from ..._c.errors import ArgumentError
from ..._cli.arguments import Arguments, Options, VerbHelp
from ..._cli.common_options import add_force, add_select_ignore, check_replaceable
from ..._cli.error_output import UsageError
from ..._cli.option_values import positive_number
from ..search.candidates import TITLES

DEFAULT_OUTPUT, DEFAULT_MINUTES = "boost.json", 5.0

_HELP = VerbHelp(
    verb="boost",
    usage="[options] -- COMMAND [ARGUMENT...]",
    examples="""\
tundish boost -- python train.py --epochs 90
tundish boost --minutes 10 --html boost.html -- python train.py
tundish run --boost boost.json -- python train.py --epochs 90""",
    text="""\
Makes an unmodified training script faster and shows that it still trains as before. Runs
the script several times for some steps, each time with one more change: Tundish's engine
in place of the DataLoader, 16-bit precision, memory layout, fused optimizer, torch.compile
and others. A change is kept if it is faster and the losses and gradients of equal steps
stay within the noise of the unmodified script. The result is saved; tundish run --boost
trains with it. Nothing in the script is edited, and files that the script writes in these
runs go to a temporary folder.""",
    json="""\
{command, script, digest, device, gpu, baseline, boosted, gain, sentence, rows, changes,
objects, survey, baseline_losses, boosted_losses, proof, pairs, notes, finished, seconds,
machine, versions, format}; docs/boost.md describes the keys""",
    exit_codes="""\
0 done, also if no change pays; 1 the script fails, or has no training loop; 2 wrong use;
130 interrupted: the best changes so far are saved""",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP, command_after_dashes=True, check=_check_options)
    arguments.option("-o,--output", "FILE", f"where to save the result ({DEFAULT_OUTPUT})")
    arguments.option("--html", "FILE", "also write a page with charts")
    add_force(arguments)
    about = f"end after about this time with the best changes so far ({DEFAULT_MINUTES:g})"
    arguments.option("--minutes", "MINUTES", about, positive_number(), DEFAULT_MINUTES)
    about = "let the engine read this pack of the images; made first if it does not exist"
    arguments.option("--pack", "FILE", about)
    add_select_ignore(arguments, "change", where=", ".join(TITLES))
    return arguments


def _check_options(options: Options) -> None:
    if not options.command:
        raise UsageError("the command is missing\n  fix: tundish boost -- python train.py")
    options.output = options.output or DEFAULT_OUTPUT
    for name in [*(options.select or []), *options.ignore]:
        if name not in TITLES:
            near = close_name(name, TITLES)
            hint = f"did you mean {near}?" if near else f"one of {', '.join(TITLES)}"
            raise UsageError(f"no change is called '{name}'\n  fix: {hint}")
    files = [("--output", options.output), ("--html", options.html)]
    for option, file in [*files, ("--output", patch_path(options.output))]:
        if file:
            check_replaceable(option, file, options.force)
            _check_folder(option, file)


def patch_path(output: str) -> str:
    """Returns the path of the patch that is written beside the result."""
    return os.path.splitext(output)[0] + ".patch"


def _check_folder(option: str, file: str) -> None:
    folder = os.path.dirname(os.path.abspath(file))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(f"{option} {file}: no file can be made in {folder}")


ARGUMENTS = _arguments()
