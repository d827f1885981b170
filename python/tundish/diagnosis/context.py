"""`with tundish.doctor() as doctor:` for a training loop in a script or a notebook."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

from ..scratch_folder import scratch_folder
from .probe.facts import Facts
from .probe.session import Session
from .probe.settings import Settings
from .recording_options import check_recordings, set_recordings
from .timeline.merge import write_timeline
from .verdict.verdict import Verdict, judge

_active = threading.Lock()


class doctor:  # lower case because it is used like a function, as tundish.check and tundish.tune are
    """Context manager that finds out what slows down the training loop inside the `with` block.

        with tundish.doctor() as doctor:
            train(model, loader)
        print(doctor.verdict)

    steps           number of training steps to measure; 0: at least 20 steps and at least 4 seconds
    cached_batches  also run a few steps on cached batches, to measure the step time without data
                    loading. These steps train on the same batches again. If False, this time is
                    computed instead
    layers          measure every layer of the model in a few more steps
    timeline        file for a timeline of 5 steps, to open in ui.perfetto.dev. Shows torch's profiler,
                    the threads of every tundish.Loader and the workers of torch's DataLoader
                    (docs/doctor.md)
    table           table to add to the printed verdict: "simple" for the parts of a step, or
                    "advanced" for Python functions as well
    memory_lines    record how much memory each line of code holds at the peak of a step

    The doctor recognizes a training step by calls of torch optimizers. The loop must run in this
    process; other processes are not watched.
    """

    def __init__(
        self,
        *,
        steps: int = 0,
        cached_batches: bool = True,
        layers: bool = True,
        timeline: str | os.PathLike[str] | None = None,
        table: str = "",
        memory_lines: bool = False,
    ) -> None:
        if steps < 0 or 0 < steps < 5:
            raise ValueError(f"steps={steps}: a verdict needs at least 5 steps")
        self._settings = Settings(steps=steps, stop=False)
        if not cached_batches:
            self._settings.cached_batches = 0
        self._timeline, self._table = os.fspath(timeline) if timeline else "", table
        check_recordings(self._timeline, table, "{}=")
        set_recordings(self._settings, timeline=timeline, table=table, memory=memory_lines)
        if not layers:
            self._settings.layers = 0
        self._session: Session | None = None
        self._scratch = contextlib.ExitStack()
        self._verdict: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict on the steps so far; after the `with` block, the final verdict."""
        if self._verdict is not None:
            return self._verdict
        if self._session is None:
            raise RuntimeError(
                "no verdict yet; use it inside or after the block: with tundish.doctor() as doctor: ..."
            )
        return self._judged(self._session.write(), "")

    @property
    def is_done(self) -> bool:
        """Whether all measurements are done. After that, the loop runs without being watched."""
        return self._session is not None and self._session.watch.phase == "done"

    def __enter__(self) -> doctor:
        if not _active.acquire(blocking=False):
            raise RuntimeError("another tundish.doctor() is active; only one can run at a time")
        self._verdict = None
        if self._timeline:
            folder = self._scratch.enter_context(scratch_folder("tundish-timeline-"))
            self._settings.timeline_folder = folder
        self._session = Session(self._settings, None)
        self._session.begin()
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._session is not None
        try:
            self._verdict = self._judged(self._session.end(), "the training")
            if self._timeline:
                folder = self._settings.timeline_folder
                self._verdict.timeline = write_timeline(folder, self._timeline)
        finally:
            self._scratch.close()
            _active.release()

    def _judged(self, facts: Facts, ended: str) -> Verdict:
        verdict = judge(facts, ended)
        verdict.table = self._table
        return verdict
