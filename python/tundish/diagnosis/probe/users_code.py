"""Which files are the user's own: not Python's, not an installed package, not ours."""

from __future__ import annotations

import os
import sysconfig
from types import FrameType

_LIBRARIES = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")})
# They run the training loop themselves.
_FRAMEWORKS = ("lightning", "pytorch_lightning", "accelerate", "transformers", "composer", "fastai")
_OURS = os.path.dirname(os.path.abspath(__file__))


def is_users(file: str) -> bool:
    return not file.startswith((*_LIBRARIES, _OURS, "<")) or file.startswith("<ipython")


def is_ours(file: str) -> bool:
    return file.startswith(_OURS)


def users_line(frame: FrameType | None) -> tuple[str, int]:
    """The innermost line of the user's own code; ("", 0) where there is none."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def users_files(frame: FrameType | None) -> list[str]:
    """The user's own files that the frame and its callers are in, the innermost first."""
    found: dict[str, None] = {}
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file) and not file.startswith("<"):
            found[os.path.abspath(file)] = None
        frame = frame.f_back
    return list(found)


def framework_of(file: str) -> str:
    """The framework that an installed file belongs to; empty for other files."""
    for library in _LIBRARIES:
        if file.startswith(library + os.sep):
            package = file[len(library) + 1 :].partition(os.sep)[0]
            return package if package in _FRAMEWORKS else ""
    return ""
