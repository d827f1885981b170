"""Writes the stack of tundish's functions at the first call of each point to STACKS, as JSON lines.

The environment variable POINTS holds a list of [stage, file, function, caller]. A call counts only if
`caller` is on the stack; an empty caller allows any stack. The files whose functions run between the
first and the last point of a process are written too.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Any


def own_file(name: str) -> str:
    """Returns the path relative to the repository, or "" for a file of another package."""
    at = name.rfind("python/tundish/")
    return name[at:] if at >= 0 else ""


def stack(frame: FrameType | None) -> list[list[str]]:
    """Returns [function, file] of tundish's own frames, from the outermost frame to `frame`."""
    out: list[list[str]] = []
    while frame is not None:
        code = frame.f_code
        if (file := own_file(code.co_filename)) and not code.co_name.startswith("<"):
            out.append([code.co_qualname.replace(".<locals>", ""), file])
        frame = frame.f_back
    return out[::-1]


def write(values: dict[str, Any]) -> None:
    with open(os.environ["STACKS"], "a") as out:
        print(json.dumps(values), file=out)


class Recorder:
    def __init__(self) -> None:
        self.points = json.loads(os.environ["POINTS"])
        self.names = {function.rpartition(".")[2] for _, _, function, _ in self.points}
        self.files: set[str] = set()
        self.has_begun = False

    def on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        if frame.f_code.co_name in self.names:
            self.check_points(stack(frame))
        file = own_file(frame.f_code.co_filename) if self.has_begun and self.points else ""
        if file and file not in self.files:
            self.files.add(file)
            write({"file": file})

    def check_points(self, frames: list[list[str]]) -> None:
        for point in list(self.points):
            step, file, function, caller = point
            below = not caller or any(name == caller for name, _ in frames)
            if below and frames and frames[-1] == [function, file]:
                self.points.remove(point)
                self.has_begun = True
                write({"step": step, "frames": frames})


def record() -> None:
    """Starts recording in this thread."""
    sys.setprofile(Recorder().on_event)
