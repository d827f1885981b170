"""Hides the frames of hooks from Python's warnings.

`warnings.warn(..., stacklevel=3)` counts stack frames. A hook adds a frame, so the warning would
name a line of the hook instead of the user's line. Python skips frames of importlib, which it
recognizes by two parts of the file name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.py (importlib._bootstrap)")

_Function = TypeVar("_Function", bound=Callable[..., object])


def hidden(function: _Function) -> _Function:
    """Hides the frame of `function` from warnings, so that they name the line of its caller."""
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_filename=_FILE)
    return function
