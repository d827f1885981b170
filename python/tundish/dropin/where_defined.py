"""The file and line of something of the user's, for a report."""

from __future__ import annotations

import functools
import inspect
from typing import Any

# What is called of an object, in the order of how much it says.
_METHODS = ("__getitem__", "__call__", "forward", "__iter__", "__init__")


def where_defined(thing: Any) -> str:
    """ "FILE:LINE" of a function, or of the method of an object that is called; empty when it has none."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    thing = inspect.unwrap(getattr(thing, "__func__", thing)) if callable(thing) else thing
    code = getattr(thing, "__code__", None)
    if code is None:
        kind = thing if isinstance(thing, type) else type(thing)
        named = [vars(kind)[name] for name in _METHODS if name in vars(kind)]
        code = next((one.__code__ for one in named if hasattr(one, "__code__")), None)
        if code is None:
            return _of_class(kind)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _of_class(kind: type) -> str:
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):  # of C, of a notebook that has gone, or typed in
        return ""
