"""Which lines the loop's thread is at, looked up every few milliseconds during some steps."""

from __future__ import annotations

import dis
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from statistics import median
from types import CodeType, FrameType
from typing import Any

from ..users_code import framework_of, is_ours, is_users

PERIOD_S = 0.002
RARE = 5.0  # a step that takes so many times the median has a validation or a checkpoint in it
_FOR = dis.opmap["FOR_ITER"]
# Part of the step ("torch": in a function of torch outside modules), whether no hook knows that part,
# file, line, function called there.
Place = tuple[str, bool, str, int, str]
Sample = tuple[Place, float]  # and the seconds that it stands for
Columns = tuple[int, int]  # of an expression of a line, in bytes of UTF-8


class LineSampler:
    """start() and stop() are called by the loop's thread; a thread of its own takes the samples."""

    def __init__(self) -> None:
        self._now: list[Sample] = []  # of the step that runs
        self._steps: list[tuple[bool, float, list[Sample]]] = []  # boundary, seconds, samples
        self._columns: dict[tuple[str, int], Counter[Columns]] = {}
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

    def step_ended(self, boundary: bool, seconds: float) -> None:
        """`boundary`: an epoch began or ended in this step, so a validation may be in it."""
        ended, self._now = self._now, []
        self._steps.append((boundary, seconds, ended))

    def _take(self, thread: int, part: Callable[[], str], stop: threading.Event) -> None:
        last = time.perf_counter()
        while not stop.wait(PERIOD_S):
            # A function of C that keeps Python's lock, such as gc.collect(), delays the sample until it ends: the sample
            # stands for all of that time.
            since, last = last, time.perf_counter()
            frame = sys._current_frames().get(thread)
            if frame is None:
                return
            known = now = part()
            if is_ours(frame.f_code.co_filename):
                continue  # the doctor's own work
            file, line, called, called_file = _users_place(frame)
            if now == "other":
                if self._is_at_for(frame):
                    now = "data"
                elif called_file.startswith(_folder_of_torch()):
                    now = "torch"
            self._now.append(((now, known == "other", file, line, called), last - since))
            if now == "other":
                found = self._columns.setdefault((file, line), Counter())
                found[_columns(frame, file)] += 1

    def _is_at_for(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_lasti in self._loops.get(frame.f_code, ()):
                return True
            frame = frame.f_back
        return False

    def as_json(self) -> list[dict[str, Any]]:
        """Longest first. `column` and `end_column`: of the part of the line where most samples were."""
        samples = self._counted()
        counts = Counter(place for place, _ in samples)
        seconds: Counter[Place] = Counter()
        for place, stands_for in samples:
            seconds[place] += stands_for  # type: ignore[assignment]
        total = sum(seconds.values())
        out = []
        for place, whole in seconds.most_common(40):
            part, in_other, file, line, name = place
            columns = self._columns.get((file, line)) if part == "other" else None
            first, last = columns.most_common(1)[0][0] if columns else (0, 0)
            out.append(
                {
                    "part": part,
                    "in_other": in_other,
                    "file": file,
                    "line": line,
                    "function": name,
                    "share": whole / total,
                    "samples": counts[place],
                    "column": first,
                    "end_column": last,
                }
            )
        return out

    def _counted(self) -> list[Sample]:
        """Of the steps that the figures would count too; of all where there is no such step."""
        usual = [one for one in self._steps if not one[0]]
        limit = RARE * median(one[1] for one in usual) if usual else 0.0
        kept = [samples for _, seconds, samples in usual if seconds <= limit]
        if not any(kept):
            kept = [*(one[2] for one in self._steps), self._now]
        return [sample for samples in kept for sample in samples]


def _columns(frame: FrameType | None, file: str) -> Columns:
    """Of the expression that the innermost frame of the file is at; (0, 0) before Python 3.11, or of several lines."""
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None or not hasattr(frame.f_code, "co_positions"):
        return 0, 0
    found = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if found is None or found[0] != found[1] or found[2] is None or found[3] is None:
        return 0, 0
    return found[2], found[3]


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
        if not is_ours(file):  # hooks around functions of torch are called `call`
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
