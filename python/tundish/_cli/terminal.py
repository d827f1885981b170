"""What a verb writes to stdout and stderr: when in color, and in which characters."""

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
    """stdout is closed or full. The cause is the OSError."""


class _Closed(io.TextIOBase):
    """stdout that was closed before Python began: writing fails, as it does in other programs."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def replace_closed_streams() -> None:
    """Gives the verbs streams where the shell closed some (`2>&-`), for which Python has None."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:  # its text is lost, and nothing fails
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def use_color(stream: TextIO, no_color: bool = False) -> bool:
    """Returns whether `stream` gets colors. `no_color`: the option --no-color."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def paint(text: str, color: str, enabled: bool) -> str:
    """Returns `text` in a color of this module, or as it is where colors are off."""
    return f"\x1b[{color}m{text}\x1b[0m" if enabled and color else text


def printable(text: str) -> str:
    """Returns one line without characters that move the cursor or change colors.

    Each character stays one character, so that carets below a line of code fit.
    """
    return "".join(char if char.isprintable() else " " if char == "\t" else "?" for char in text)


def printable_lines(text: str) -> str:
    """Returns `text` without colors and with every line printable."""
    return "\n".join(printable(line) for line in _COLORS.sub("", text).splitlines())


def has_unicode(stream: TextIO) -> bool:
    """Returns whether `stream` can show every character."""
    return "utf" in (getattr(stream, "encoding", None) or "").lower()


def write_stdout(text: str) -> None:
    """Writes and flushes. Replaces what the encoding lacks. Raises StdoutError."""
    try:
        sys.stdout.write(_encodable(text, sys.stdout))
        sys.stdout.flush()
    except OSError as error:
        discard_stdout()
        raise StdoutError from error


def write_stderr(text: str) -> None:
    """Writes and flushes. A closed or full stderr loses the text: nothing could report it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()


def discard_stdout() -> None:
    """Sends what is still buffered nowhere: Python flushes stdout again when it exits."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
