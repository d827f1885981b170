"""Prints errors and notes of a verb: text on stderr, and with --json an object on stdout."""

from __future__ import annotations

import sys

from .._c.errors import ArgumentError
from .json_output import print_json
from .terminal import RED, StdoutError, paint, printable_lines, use_color, write_stderr


class UsageError(ArgumentError):
    """The command line is invalid. `run_verb` adds a reference to the verb's help to the message."""


def print_error(text: str, exit_code: int, as_json: bool = False, no_color: bool = False) -> int:
    """Prints an error, and with `as_json` also {"error": ...}. Returns the exit code."""
    name = paint("tundish:", RED, use_color(sys.stderr, no_color))
    write_stderr(f"{name} {printable_lines(text)}\n")
    if as_json:
        try:
            print_json({"error": {"code": None, "message": text, "exit": exit_code}})
        except StdoutError:
            return exit_code  # the message is already on stderr
    return exit_code


def print_note(text: str) -> None:
    """Prints a note: a line that is not an error."""
    write_stderr(f"tundish: {printable_lines(text)}\n")
