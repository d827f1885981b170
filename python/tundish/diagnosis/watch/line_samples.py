"""Which lines the loop's thread is at, looked up every few milliseconds during some steps."""

from __future__ import annotations

import dis
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .users_code import framework_of, is_users

PERIOD_S = 0.002
_FOR = dis.opmap["FOR_ITER"]
# Part of the step ("torch": in a function of torch outside modules), whether no hook knows that part,
# file, line, function called there.
Place = tuple[str, bool, str, int, str]


class LineSampler:
    """start() and stop() are called by the loop's thread; a thread of its own takes the samples."""

    def __init__(self) -> None:
        self.samples: Counter[Place] = Counter()
        self.total = 0
        self._loops: dict[CodeType, set[int]] = {}
        self._stop: threading.Event | None = None

    def note_loop(self, frame: FrameType | None) -> None:
        """The `for` loops that a step is made in, by the frames that it is called from."""
        while frame is not None:
            if is_users(frame.f_code.co_filename) and frame.f_code not in self._loops:
                self._loops[frame.f_code] = _for_loops_around(frame)
            frame = frame.f_back

    def start(self, thread: int, part: Callable[[], str]) -> None:
        self._stop = threading.Event()
        taker = threading.Thread(
            target=self._take, args=(thread, part, self._stop), name="tundish-doctor", daemon=True
        )
        taker.start()

    def stop(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _take(self, thread: int, part: Callable[[], str], stop: threading.Event) -> None:
        while not stop.wait(PERIOD_S):
            frame = sys._current_frames().get(thread)
            if frame is None:
                return
            known = now = part()
            file, line, called, called_file = _users_place(frame)
            if now == "other":
                if self._is_at_for(frame):
                    now = "data"
                elif called_file.startswith(_folder_of_torch()):
                    now = "torch"
            self.samples[(now, known == "other", file, line, called)] += 1
            self.total += 1

    def _is_at_for(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_lasti in self._loops.get(frame.f_code, ()):
                return True
            frame = frame.f_back
        return False

    def as_json(self) -> list[dict[str, Any]]:
        """Most frequent first."""
        return [
            {
                "part": part,
                "in_other": in_other,
                "file": file,
                "line": line,
                "function": name,
                "share": n / self.total,
            }
            for (part, in_other, file, line, name), n in self.samples.most_common(40)
        ]


def _folder_of_torch() -> str:
    return os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep


def _users_place(frame: FrameType) -> tuple[str, int, str, str]:
    """The innermost line of the user's own code: file, line, what is called there, and its file.

    Where a framework runs the loop, the user's line is `trainer.fit(...)` for all of it; what is called is then
    also the framework's innermost function.
    """
    called = called_file = inside = ""
    one = frame
    while True:
        file = one.f_code.co_filename
        if is_users(file):
            if inside and framework_of(called_file):
                called = f"{called}: {inside}"
            return file, one.f_lineno, called, called_file
        called, called_file = one.f_code.co_name, file
        inside = inside or _place_in_framework(one)
        if one.f_back is None:
            return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, ""
        one = one.f_back


def _place_in_framework(frame: FrameType) -> str:
    """Its function and file, as "refresh in tqdm_progress.py"; empty outside of frameworks."""
    file = frame.f_code.co_filename
    return f"{frame.f_code.co_name} in {os.path.basename(file)}" if framework_of(file) else ""


def _for_loops_around(frame: FrameType) -> set[int]:
    """Offsets of the FOR_ITER instructions whose bodies the frame is in."""
    found = set()
    for one in dis.get_instructions(frame.f_code):
        if one.opcode == _FOR and one.offset < frame.f_lasti < one.argval:
            found.add(one.offset)
    return found


def cost_of_a_sample() -> float:
    """Seconds, measured now."""
    begin = time.perf_counter()
    for _ in range(100):
        _users_place(sys._current_frames()[threading.get_ident()])
    return (time.perf_counter() - begin) / 100
