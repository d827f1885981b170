"""Locates the user's build function, so that a child process can import it by file and name."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

from .._c.errors import ArgumentError

_WHY = "every trial runs in its own process, which imports the function from its file by name"


def locate_function(build: Any) -> tuple[str, str]:
    """Returns the file and the name of a function defined at the top level of a .py file.

    Raises ArgumentError for any other function or object.
    """
    if not callable(build):
        raise ArgumentError(
            f"build is a {type(build).__name__}, not a function\n"
            '  fix: pass the function that makes the job, or "train.py:build"; tundish.tune also takes the '
            "four objects: tundish.tune(model, optimizer, loss_fn, batch)"
        )
    reason, fix = _obstacle(build)
    if reason:
        raise ArgumentError(f"{reason}: {_WHY}\n  fix: {fix}")
    return os.path.abspath(_file_of(build)), build.__qualname__


def _obstacle(build: Any) -> tuple[str, str]:
    """Returns why `build` cannot be imported by name and how to fix it, or two empty strings."""
    if isinstance(build, functools.partial):
        inner = getattr(build.func, "__qualname__", type(build.func).__name__)
        return (
            f"a functools.partial of {inner}() has no name in a file",
            f"write a function at the top level of the file: def build(): return {_call(build)}",
        )
    name = getattr(build, "__qualname__", "")
    if inspect.ismethod(build):
        return (
            f"{name}() is a method of an object",
            "write a function at the top level of the file that makes the object and calls the method",
        )
    if not name:
        kind = type(build).__name__
        return (
            f"build is an object of the class {kind}, which can be called but has no name in a file",
            f"write a function at the top level of the file: def build(): return {kind}(...)()",
        )
    if name.rpartition(".")[2] == "<lambda>":
        line = build.__code__.co_firstlineno
        return (
            f"a lambda (line {line}) has no name in a file",
            "write it as def build(): return ...",
        )
    outer, _, inner = name.rpartition(".")
    if outer.endswith("<locals>"):
        within = outer.removesuffix(".<locals>")
        return (
            f"{inner}() is defined inside {within}()",
            f"move {inner}() to the top level of the file; what it takes from {within}() becomes "
            "a global or is made in it",
        )
    if outer:
        return (
            f"{inner}() is defined in the class {outer}",
            f"write a function at the top level of the file: def build(): return {name}()",
        )
    if not os.path.isfile(_file_of(build)):
        return (
            f"{name}() is not in a file, as in a notebook, at a prompt or in compiled code",
            f'write {name}() to a file, such as train.py, and pass its location: tundish.tune("train.py:{name}")',
        )
    return "", ""


def _file_of(build: Any) -> str:
    """Returns the file that defines the function itself, even if a decorator wraps it."""
    try:
        return inspect.getsourcefile(inspect.unwrap(build)) or ""
    except TypeError:
        return ""


def _call(build: functools.partial[Any]) -> str:
    name = getattr(build.func, "__name__", "function")
    return f"{name}(...)" if build.args or build.keywords else f"{name}()"
