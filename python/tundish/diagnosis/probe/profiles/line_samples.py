"""A sampling profiler: records the current line of the loop's thread every few milliseconds."""

from __future__ import annotations

import dis
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from types import CodeType, FrameType

from ...._process.code_origin import framework_name, is_own_file, is_user_file
from ..facts import LineFacts
from ..median import median

PERIOD_S = 0.002
RARE_STEP = 5.0  # steps longer than this multiple of the median include a validation or similar
_FOR = dis.opmap["FOR_ITER"]
# (part of the step, whether it is outside all hooks, file, line, called function). The part is "torch"
# for a torch function called outside modules.
SampledLine = tuple[str, bool, str, int, str]
Sample = tuple[SampledLine, float]  # the line, and the seconds that the sample represents
Columns = tuple[int, int]  # range of an expression in a line, in UTF-8 bytes


class LineSampler:
    """Samples the loop's thread from another thread. Call start() and stop() in the loop's thread."""

    def __init__(self) -> None:
        self._current: list[Sample] = []  # samples of the current step
        self._steps: list[tuple[bool, float, list[Sample]]] = []  # (boundary, seconds, samples)
        self._columns: dict[tuple[str, int], Counter[Columns]] = {}
        self._loops: dict[CodeType, set[int]] = {}
        self._stop: threading.Event | None = None

    def note_loop(self, frame: FrameType | None) -> None:
        """Records which `for` loops contain the step, from the frames of the callers."""
        while frame is not None:
            if is_user_file(frame.f_code.co_filename) and frame.f_code not in self._loops:
                self._loops[frame.f_code] = _for_loops_around(frame)
            frame = frame.f_back

    def start(self, thread: int, part: Callable[[], str]) -> None:
        self._stop = threading.Event()
        sampler = threading.Thread(
            target=self._sample_until_stopped,
            args=(thread, part, self._stop),
            name="tundish-doctor",
            daemon=True,
        )
        sampler.start()

    def stop(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def step_ended(self, boundary: bool, seconds: float) -> None:
        """Ends a step. `boundary` means that an epoch began or ended in it, maybe with a validation."""
        ended, self._current = self._current, []
        self._steps.append((boundary, seconds, ended))

    def _sample_until_stopped(
        self, thread: int, part: Callable[[], str], stop: threading.Event
    ) -> None:
        last = time.perf_counter()
        while not stop.wait(PERIOD_S):
            # A C function that holds the GIL, such as gc.collect(), delays the sample until it returns.
            # The sample then represents all of that time.
            since, last = last, time.perf_counter()
            frame = sys._current_frames().get(thread)
            if frame is None:
                return
            known = now = part()
            if is_own_file(frame.f_code.co_filename):
                continue  # the doctor's own work
            file, line, called, called_file = _user_line(frame)
            if now == "other":
                if self._is_at_for(frame):
                    now = "data"
                elif called_file.startswith(_torch_folder()):
                    now = "torch"
            self._current.append(((now, known == "other", file, line, called), last - since))
            if now == "other":
                found = self._columns.setdefault((file, line), Counter())
                found[_columns(frame, file)] += 1

    def _is_at_for(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_lasti in self._loops.get(frame.f_code, ()):
                return True
            frame = frame.f_back
        return False

    def facts(self) -> list[LineFacts]:
        """Returns the sampled lines, longest time first.

        `column` and `end_column` delimit the expression with the most samples in the line.
        """
        samples = self._typical_samples()
        counts = Counter(place for place, _ in samples)
        seconds: Counter[SampledLine] = Counter()
        for place, represented_s in samples:
            seconds[place] += represented_s  # type: ignore[assignment]
        total = sum(seconds.values())
        out = []
        for place, whole in seconds.most_common(40):
            part, in_other, file, line, name = place
            columns = self._columns.get((file, line)) if part == "other" else None
            first, last = columns.most_common(1)[0][0] if columns else (0, 0)
            out.append(
                LineFacts(
                    part=part,
                    in_other=in_other,
                    file=file,
                    line=line,
                    function=name,
                    share=whole / total,
                    samples=counts[place],
                    column=first,
                    end_column=last,
                )
            )
        return out

    def _typical_samples(self) -> list[Sample]:
        """Returns the samples of steps that count in the figures, or of all steps if none counts."""
        usual = [step for step in self._steps if not step[0]]
        limit = RARE_STEP * median(step[1] for step in usual) if usual else 0.0
        kept = [samples for _, seconds, samples in usual if seconds <= limit]
        if not any(kept):
            kept = [*(step[2] for step in self._steps), self._current]
        return [sample for samples in kept for sample in samples]


def _columns(frame: FrameType | None, file: str) -> Columns:
    """Returns the columns of the current expression in the innermost frame of `file`.

    Returns (0, 0) before Python 3.11, and for expressions that span several lines.
    """
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None or not hasattr(frame.f_code, "co_positions"):
        return 0, 0
    found = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if found is None or found[0] != found[1] or found[2] is None or found[3] is None:
        return 0, 0
    return found[2], found[3]


def _torch_folder() -> str:
    return os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep


def _user_line(frame: FrameType) -> tuple[str, int, str, str]:
    """Returns the innermost line of user code: file, line, the function called there, and its file.

    If a framework runs the loop, this line is always `trainer.fit(...)`. The called function then also
    names the framework's innermost function.
    """
    called = called_file = inside = ""
    caller = frame
    while True:
        file = caller.f_code.co_filename
        if is_user_file(file):
            if inside and framework_name(called_file):
                called = f"{called}: {inside}"
            return file, caller.f_lineno, called, called_file
        if not is_own_file(file):  # skips the doctor's hooks around torch functions
            called, called_file = caller.f_code.co_name, file
        inside = inside or _framework_function(caller)
        if caller.f_back is None:
            return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, ""
        caller = caller.f_back


def _framework_function(frame: FrameType) -> str:
    """Returns the framework's function and file, such as "refresh in tqdm_progress.py".

    Returns "" outside frameworks.
    """
    file = frame.f_code.co_filename
    return f"{frame.f_code.co_name} in {os.path.basename(file)}" if framework_name(file) else ""


def _for_loops_around(frame: FrameType) -> set[int]:
    """Returns the offsets of the FOR_ITER instructions around the frame's current instruction."""
    found = set()
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.opcode == _FOR and instruction.offset < frame.f_lasti < instruction.argval:
            found.add(instruction.offset)
    return found
