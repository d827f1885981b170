"""The verb `tundish boost`: the result on stdout, progress and messages on stderr."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..._cli.arguments import Options
from ..._cli.exit_codes import INTERRUPTED, OK
from ..._cli.json_output import print_json
from ..._cli.terminal import use_color, write_stdout
from ..._cli.verb import run_verb
from ...diagnosis.process.command import resolve_command
from ...report.machine import machine, versions
from ...scratch_folder import scratch_folder
from ...tuning.report.tuning_progress import stderr_progress
from .. import boost_file
from ..patch.write import write_patch
from ..report.boost_text import boost_text
from ..search.results import BoostResult
from ..search.search import Search, SearchOptions
from ..trials.trial import TrialRunner
from ..trials.write_guard import check_guard, python_of
from .boost_options import ARGUMENTS, patch_path


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _boost, interrupted="interrupted before anything was measured")


def _boost(options: Options) -> int:
    seconds = 60 * options.minutes
    progress = stderr_progress(options.quiet, seconds)
    wanted = SearchOptions(seconds, options.pack, options.select, options.ignore)
    try:
        with scratch_folder("tundish-boost-") as folder:
            command = resolve_command(options.command)
            check_guard(python_of(command), Path(folder))
            allowed = [options.pack] if options.pack else []
            runner = TrialRunner(command, Path(folder), allowed)
            search = Search(runner, wanted, lambda what, left: progress.phase(what))
            result = search.run()
    finally:
        progress.end()
    result.command = options.command
    result.machine, result.versions = machine(), versions()
    boost_file.save(result, options.output)
    _print(result, options, _save_patch(result, options.output))
    interrupted = any(note.startswith("interrupted") for note in result.notes)
    return INTERRUPTED if interrupted else OK


def _save_patch(result: BoostResult, output: str) -> str:
    """Writes the patch beside the result. Returns a line about it, "" without changes."""
    if not result.changes:
        return ""
    patch, path = write_patch(result), patch_path(output)
    Path(path).write_bytes(patch.data)
    lines = "1 line" if patch.changed_lines == 1 else f"{patch.changed_lines} lines"
    text = f"git apply {shlex.quote(path)}   changes {lines}, for plain python"
    if patch.by_hand:
        names = ", ".join(one.change for one in patch.by_hand)
        text += f"; by hand, as comments: {names}"
    return text


def _print(result: BoostResult, options: Options, patch: str) -> None:
    more = {"keep": patch} if patch else {}
    if options.html:
        from ..report.boost_page import boost_page

        command = shlex.join(["tundish", *options.argv[1:]])
        with open(options.html, "w", encoding="utf-8", errors="replace") as file:
            file.write(boost_page(result, command))
        more["report"] = options.html
    if options.json:
        print_json(result.as_json())
    elif not options.quiet:
        color = use_color(sys.stdout, options.no_color)
        write_stdout(boost_text(result, color, options.output, more))
