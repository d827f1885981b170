"""What is raised: the engine's errors as exceptions."""

from __future__ import annotations

from .library import lib


class Error(RuntimeError):
    """Something is wrong with the data or the machine; `code` is like "TND-203"."""

    code: str = ""


class SampleError(Error):
    """One sample is bad; the loader can go on."""


class ArgumentError(Error, ValueError):
    """An argument makes no sense."""


class MissingError(Error, FileNotFoundError):
    """A file or folder does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class _MissingSampleError(SampleError, MissingError):
    """The file of one sample does not exist any more."""


def last_error() -> Error:
    """The error of the call that just failed on this thread."""
    text = lib.tundish_last_error().decode("utf-8", "backslashreplace")
    return new_error(lib.tundish_last_error_code(), text, bool(lib.tundish_last_error_of_sample()))


def new_error(number: int, text: str, of_sample: bool = False) -> Error:
    kind: type[Error] = SampleError if of_sample else Error
    if number == 301:
        kind = _MissingSampleError if of_sample else MissingError
    elif 600 <= number < 700 and number != 605:  # too many bad samples
        kind = ArgumentError
    error = kind(text)
    error.code = f"TND-{number:03d}"
    return error
