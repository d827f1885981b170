"""Where the C++ program `tundish` is: in the installed package, or beside the interpreter."""

from __future__ import annotations

import os
import sys


def find_program() -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(os.path.dirname(sys.executable), "tundish")
    places = [os.path.join(here, "bin", "tundish"), beside]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    where = " and ".join(places)
    raise SystemExit(f"tundish: no program at {where}: run ./dev build, or install the wheel")
