"""Finds the file and line of user code, for the report."""

from __future__ import annotations

import functools
import inspect
from typing import Any

# Methods to report for an object, most informative first.
_METHODS = ("__getitem__", "__call__", "forward", "__iter__", "__init__")


def where_defined(value: Any) -> str:
    """Returns "FILE:LINE" of a function, or of an object's most informative method, or an empty string."""
    while isinstance(value, functools.partial):
        value = value.func
    value = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value
    code = getattr(value, "__code__", None)
    if code is None:
        kind = value if isinstance(value, type) else type(value)
        named = [vars(kind)[name] for name in _METHODS if name in vars(kind)]
        code = next((one.__code__ for one in named if hasattr(one, "__code__")), None)
        if code is None:
            return _of_class(kind)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _of_class(kind: type) -> str:
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (
        OSError,
        TypeError,
    ):  # classes written in C, or typed into a notebook or prompt whose source is gone
        return ""
