"""`tundish.pack`: what `tundish pack` does, from Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

from ._c.errors import ArgumentError, Error, new_error
from .program import find_program

Path = str | os.PathLike[str]


def pack(source: Path, output: Path, **options: Any) -> dict[str, Any]:
    """Packs a folder, a list, an archive or another pack into one file; gives what was done as a dict.

    source    a folder (SOURCE/CLASS/NAME.jpg), a .csv or .tsv list, a .tar (also compressed), a pack
    output    the .tnd file to write; it appears when it is complete
    options   those of the program, `tundish pack --help`: force=True, skip_bad=True, dry_run=True,
              codec="keep", tables="builtin", max_growth=1.1, strip_metadata=True, threads=4

    The keys of the result are those of `tundish pack --json`. An error of the program is raised as
    tundish.Error with its code. So are files that were refused, after the others have been packed;
    with skip_bad=True they are listed in the result only.
    """
    words = [find_program(), "pack", "--json", *_flags(options)]
    words += ["--output", os.fspath(output), "--", os.fspath(source)]
    code, out, messages = _run(words)
    try:
        result = json.loads(out)
    except ValueError:
        raise Error(f"tundish pack ended with {code} and no result: {messages.strip()}") from None
    if "error" in result:
        raise _error(result["error"])
    if code != 0:
        raise _refusal(result)
    return dict(result)


def _flags(options: dict[str, Any]) -> list[str]:
    """max_growth=1.1 -> --max-growth=1.1, force=True -> --force; False and None are left out."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        words.append(flag if value is True else f"{flag}={value}")
    return words


def _run(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout, stderr; on a terminal the program writes its messages there itself."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=None if os.isatty(2) else subprocess.PIPE,
        encoding="utf-8",
        errors="backslashreplace",
    ) as process:
        try:
            out, messages = process.communicate()
        except BaseException:  # Ctrl-C: the program tidies up before it ends
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    return process.returncode, out, messages or ""


def _error(told: dict[str, Any]) -> Error:
    if told["code"] is None:  # an option that the program does not know, or a value it refuses
        return ArgumentError(told["message"])
    return new_error(int(told["code"].removeprefix("TND-")), told["message"])


def _refusal(result: dict[str, Any]) -> Error:
    """Of files that were left out of the pack."""
    refused = result["refused"]
    text = (
        f"{refused[0]['message']}\n  {len(refused):,} such files were left out of {result['output']}, "
        f"which has the other {result['samples']:,}; skip_bad=True accepts that"
    )
    return new_error(int(refused[0]["code"].removeprefix("TND-")), text)
