"""Exceptions for the engine's errors."""

from __future__ import annotations

from .library import lib


class Error(RuntimeError):
    """An error of the data or the machine; `code` is like "TND-203"."""

    code: str = ""


class SampleError(Error):
    """One bad sample; the loader can continue."""


class ArgumentError(Error, ValueError):
    """An invalid argument."""


class MissingError(Error, FileNotFoundError):
    """A missing file or folder."""

    def __str__(self) -> str:
        return str(self.args[0])


class _MissingSampleError(SampleError, MissingError):
    """The missing file of a sample."""


def last_error() -> Error:
    """Returns the error of the call that just failed on this thread."""
    text = lib.tundish_last_error().decode("utf-8", "backslashreplace")
    return new_error(lib.tundish_last_error_code(), text, bool(lib.tundish_last_error_of_sample()))


def new_error(number: int, text: str, of_sample: bool = False) -> Error:
    kind: type[Error] = SampleError if of_sample else Error
    if number == 301:
        kind = _MissingSampleError if of_sample else MissingError
    elif 600 <= number < 700 and number != 605:  # 605: too many bad samples
        kind = ArgumentError
    error = kind(text)
    error.code = f"TND-{number:03d}"
    return error
