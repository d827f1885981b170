"""Exceptions for the engine's errors."""

from __future__ import annotations

from .library import lib


class Error(RuntimeError):
    """Base class of Tundish's errors. `code` identifies the error, for example "TND-203"."""

    code: str = ""


class SampleError(Error):
    """A sample that cannot be loaded. The loader can continue after this error."""


class ArgumentError(Error, ValueError):
    """An invalid argument."""


class MissingError(Error, FileNotFoundError):
    """A missing file or folder."""

    def __str__(self) -> str:
        return str(self.args[0])


class _MissingSampleError(SampleError, MissingError):
    """A sample whose file is missing."""


def last_error() -> Error:
    """Returns the error of the library call that just failed on this thread."""
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
