"""Writes to stdout and stderr, and decides whether to use colors and which characters to print."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from typing import TextIO

RED, YELLOW, CYAN, BOLD = "31", "33", "36", "1"
_COLORS = re.compile("\x1b\\[[0-9;]*m")


class StdoutError(Exception):
    """stdout is closed or full. `__cause__` is the OSError."""


class _Closed(io.TextIOBase):
    """Stand-in for a stdout that was closed before Python started. Writing to it fails, as in other programs."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def replace_closed_streams() -> None:
    """Replaces streams that the shell closed (`2>&-`), which are None in Python."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:  # text for it is lost without an error
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def use_color(stream: TextIO, no_color: bool = False) -> bool:
    """Returns whether to print colors to `stream`. `no_color`: whether --no-color was given."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def paint(text: str, color: str, enabled: bool) -> str:
    """Returns `text` in a color of this module, or unchanged if `enabled` is false."""
    return f"\x1b[{color}m{text}\x1b[0m" if enabled and color else text


def printable(text: str) -> str:
    """Replaces characters that move the cursor or change colors in one line of text.

    The length does not change, so carets under a line of code stay aligned.
    """
    return "".join(char if char.isprintable() else " " if char == "\t" else "?" for char in text)


def printable_lines(text: str) -> str:
    """Removes color codes from `text` and makes every line printable."""
    return "\n".join(printable(line) for line in _COLORS.sub("", text).splitlines())


def has_unicode(stream: TextIO) -> bool:
    """Returns whether the encoding of `stream` can represent every character."""
    return "utf" in (getattr(stream, "encoding", None) or "").lower()


def write_stdout(text: str) -> None:
    """Writes `text` to stdout and flushes. Replaces characters that the stream's encoding lacks.

    Raises StdoutError.
    """
    try:
        sys.stdout.write(_encodable(text, sys.stdout))
        sys.stdout.flush()
    except OSError as error:
        discard_stdout()
        raise StdoutError from error


def write_stderr(text: str) -> None:
    """Writes `text` to stderr and flushes. Ignores errors: there is nowhere left to report them."""
    with contextlib.suppress(OSError):
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()


def discard_stdout() -> None:
    """Redirects stdout to /dev/null, so that Python's flush at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
