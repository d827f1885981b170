"""User-defined tricks: classes in your own file, which `tundish tune` tries like built-in tricks.

# tricks.py
from dataclasses import dataclass
from tundish.tuning import Grade, Trick

@dataclass(frozen=True)
class NoAuxiliaryHead(Trick):
    name = "no_auxiliary_head"
    title = "no auxiliary head"
    grade = Grade.STATISTICAL
    def apply(self, step): step.model.auxiliary = False
    def undo(self, step): step.model.auxiliary = True

tundish tune train.py:build --custom-trick tricks.py:NoAuxiliaryHead
"""

from __future__ import annotations

import inspect
import os

from ..._c.errors import ArgumentError
from ..user_file import import_file
from .trick import Trick

_LOADED: dict[str, type[Trick]] = {}


def load_own(spec: str) -> type[Trick]:
    """Returns the class for "FILE:CLASS". Loads each class once, so that equal tricks compare equal."""
    if spec not in _LOADED:
        file, _, name = spec.rpartition(":")
        if not file or not name.isidentifier():
            raise ArgumentError(f"{spec!r} is not FILE:CLASS, as in tricks.py:MyTrick")
        if not os.path.isfile(file):
            raise ArgumentError(f"{file}: no such file")
        kind = getattr(import_file(os.path.abspath(file)), name, None)
        if kind is None:
            raise ArgumentError(f"{file} has no class {name}")
        if not isinstance(kind, type) or not issubclass(kind, Trick) or not kind.name:
            raise ArgumentError(
                f"{spec} is not a trick\n"
                "  fix: make it a subclass of tundish.tuning.Trick with a name, as docs/tricks.md shows"
            )
        if inspect.isabstract(kind):
            raise ArgumentError(f"{spec} has no apply() or no undo(): a trick needs both")
        kind.own = f"{os.path.abspath(file)}:{name}"
        _LOADED[spec] = _LOADED[kind.own] = kind
    return _LOADED[spec]
