"""Finds the C++ program `tundish` in the installed package or beside the interpreter."""

from __future__ import annotations

import contextlib
import os
import sys

from ._c.errors import MissingError
from ._c.library import lib


def find_program() -> str:
    package = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(os.path.dirname(sys.executable), "tundish")
    places = [os.path.join(package, "bin", "tundish"), beside]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    where = " and ".join(places)
    raise MissingError(f"no program at {where}\n  fix: run ./dev build, or install the wheel")


def register_program() -> None:
    """Tells the C library where the program is. Some formats, such as HDF5, are read by a second process."""
    with contextlib.suppress(MissingError):  # opening such a file will raise the error
        lib.tundish_set_program(os.fsencode(find_program()))
