"""Distinguishes the user's own files from Python itself, installed packages and this package."""

from __future__ import annotations

import os
import sysconfig
from types import FrameType

_LIBRARIES = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")})
# folders of installed packages, including other folders on the path: `pip install --user`, Debian's Python
_PACKAGES = ("/site-packages/", "/dist-packages/")
# frameworks that run the training loop themselves
_FRAMEWORKS = ("lightning", "pytorch_lightning", "accelerate", "transformers", "composer", "fastai")
_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(_HERE)
# folders of code that runs inside the user's script: the doctor's probe, the changes of a boost
_OURS = (
    _HERE,
    os.path.join(_PACKAGE, "diagnosis", "probe"),
    os.path.join(_PACKAGE, "boosting", "inject"),
)


def is_user_file(file: str) -> bool:
    if file.startswith((*_LIBRARIES, *_OURS, "<")):
        return file.startswith("<ipython")
    return not any(folder in file for folder in _PACKAGES)


def is_own_file(file: str) -> bool:
    return file.startswith(_OURS)


def user_line(frame: FrameType | None) -> tuple[str, int]:
    """Returns the innermost line of user code as (file, line), or ("", 0) if there is none."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def user_files(frame: FrameType | None) -> list[str]:
    """Returns the user's files on the stack of `frame`, innermost first."""
    found: dict[str, None] = {}
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file) and not file.startswith("<"):
            found[os.path.abspath(file)] = None
        frame = frame.f_back
    return list(found)


def framework_name(file: str) -> str:
    """Returns the name of the framework that an installed file belongs to, or ""."""
    for folder in (*(f"{library}{os.sep}" for library in _LIBRARIES), *_PACKAGES):
        package = file.rpartition(folder)[2].partition(os.sep)[0] if folder in file else ""
        if package in _FRAMEWORKS:
            return package
    return ""
