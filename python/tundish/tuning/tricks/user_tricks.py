"""Tricks of the user's own: classes in a file of theirs, tried like the others.

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

tundish tune train.py:build --own tricks.py:NoAuxiliaryHead
"""

from __future__ import annotations

import inspect
import os

from ..._c.errors import ArgumentError
from ..job import import_file
from .trick import Trick

_LOADED: dict[str, type[Trick]] = {}


def load_own(words: str) -> type[Trick]:
    """The class of "FILE:CLASS". One class for each text, so that tricks of it are equal."""
    if words not in _LOADED:
        file, _, name = words.rpartition(":")
        if not file or not name.isidentifier():
            raise ArgumentError(f"{words!r} is not FILE:CLASS, as in tricks.py:MyTrick")
        if not os.path.isfile(file):
            raise ArgumentError(f"{file}: no such file")
        kind = getattr(import_file(os.path.abspath(file)), name, None)
        if kind is None:
            raise ArgumentError(f"{file} has no class {name}")
        if not isinstance(kind, type) or not issubclass(kind, Trick) or not kind.name:
            raise ArgumentError(
                f"{words} is not a trick\n"
                "  fix: make it a subclass of tundish.tuning.Trick with a name, as docs/tricks.md shows"
            )
        if inspect.isabstract(kind):
            raise ArgumentError(f"{words} has no apply() or no undo(): a trick needs both")
        kind.own = f"{os.path.abspath(file)}:{name}"
        _LOADED[words] = _LOADED[kind.own] = kind
    return _LOADED[words]
