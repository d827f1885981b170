"""The calls in the user's code that construct an object or run a model, with exact positions."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

from ..._process.code_origin import is_own_file, is_user_file
from ...diagnosis.probe.hidden_frames import hidden


@dataclass(frozen=True)
class CallSite:
    """The innermost call in a user's file. Line 0: unknown; end_line 0: no exact position.

    Columns count UTF-8 bytes from 0, as in `ast`. Python 3.10 has no positions within a line.
    """

    file: str = ""
    line: int = 0
    end_line: int = 0
    end_column: int = 0
    kind: str = ""  # class of the object that was constructed
    is_direct: bool = False  # the user's file makes the call, not a library that the file calls


def call_site(frame: FrameType | None, made: Any = None) -> CallSite:
    """Returns the site of the frame's call. `made`: the object; frames of its methods are skipped."""
    while frame is not None and (
        is_own_file(frame.f_code.co_filename) or (made is not None and _is_method(frame, made))
    ):
        frame = frame.f_back
    first = frame
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return CallSite()
    end_line, end_column = _end_position(frame)
    kind = "" if made is None else type(made).__name__
    file = frame.f_code.co_filename
    return CallSite(file, frame.f_lineno, end_line, end_column, kind, frame is first)


def _is_method(frame: FrameType, made: Any) -> bool:
    code = frame.f_code
    return code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is made


def _end_position(frame: FrameType) -> tuple[int, int]:
    if sys.version_info < (3, 11):
        return 0, 0
    number = frame.f_lasti // 2
    position = next(islice(frame.f_code.co_positions(), number, None), (None,) * 4)
    end_line, end_column = position[1], position[3]
    return (0, 0) if end_line is None or end_column is None else (end_line, end_column)


class ConstructionSites:
    """Records where modules, optimizers and DataLoaders are constructed, by hooks of `__init__`."""

    def __init__(self) -> None:
        # By id, because a class may define __hash__. The reference shows whether the object still lives.
        self._sites: dict[int, tuple[weakref.ref[Any], CallSite]] = {}
        self._undo: list[Callable[[], None]] = []
        self._is_installed = True

    def install_torch(self) -> None:
        self._hook(sys.modules["torch"].nn.Module)
        self._hook(sys.modules["torch.optim.optimizer"].Optimizer)

    def install_loaders(self) -> None:
        self._hook(sys.modules["torch.utils.data.dataloader"].DataLoader)

    def uninstall(self) -> None:
        self._is_installed = False  # torch.compile may have wrapped the hook of Module
        while self._undo:
            self._undo.pop()()

    def site_of(self, made: Any) -> CallSite:
        reference, site = self._sites.get(id(made), (None, CallSite()))
        return site if reference is not None and reference() is made else CallSite()

    def _hook(self, kind: Any) -> None:
        original = kind.__init__

        def __init__(made: Any, *args: Any, **kwargs: Any) -> None:
            if self._is_installed:
                with contextlib.suppress(TypeError):  # a class with __slots__
                    self._sites[id(made)] = weakref.ref(made), call_site(sys._getframe(1), made)
            original(made, *args, **kwargs)

        replacement: Any = hidden(__init__)
        replacement.__wrapped__ = original
        kind.__init__ = replacement

        def undo() -> None:
            if vars(kind).get("__init__") is replacement:
                kind.__init__ = original

        self._undo.append(undo)
