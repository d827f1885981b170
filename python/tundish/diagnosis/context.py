"""`with tundish.doctor() as doctor:` around a training loop, also in a notebook."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

from ..scratch_folder import scratch_folder
from .cli.recording_options import check_recordings, set_recordings
from .probe.session import Session
from .probe.settings import Settings
from .timeline.merge import write_timeline
from .verdict.verdict import Verdict, judge

_active = threading.Lock()


class doctor:  # a verb, as tundish.check and tundish.tune
    """Says what bounds the step of the training loop inside it.

        with tundish.doctor() as doctor:
            train(model, loader)
        print(doctor.verdict)

    steps     to measure; 0: at least 20, for at least 4 seconds
    replay    give the loop cached batches for a few steps, which shows the step if loading were free. These
              steps train on the same batches again; with False that figure is computed instead
    layers    measure every layer of the model in a few more steps
    timeline  a file for a timeline of 5 steps, which ui.perfetto.dev opens: torch's profiler, the threads of every
              tundish.Loader, workers of torch's DataLoader (docs/profile.md)
    table     "simple" or "advanced": print(doctor.verdict) has a table of the parts of a step, and of functions
    memory    record which lines hold how much memory at the peak of a step
    The loop is found by torch's optimizer steps. It must run in one process; other processes are not watched.
    """

    def __init__(
        self,
        *,
        steps: int = 0,
        replay: bool = True,
        layers: bool = True,
        timeline: str | os.PathLike[str] | None = None,
        table: str = "",
        memory: bool = False,
    ) -> None:
        if steps < 0 or 0 < steps < 5:
            raise ValueError(f"steps={steps}: at least 5 steps make a verdict")
        self._settings = Settings(steps=steps, stop=False)
        if not replay:
            self._settings.replayed = 0
        self._timeline, self._table = os.fspath(timeline) if timeline else "", table
        check_recordings(self._timeline, table, "{}=")
        set_recordings(self._settings, timeline=timeline, table=table, memory=memory)
        if not layers:
            self._settings.layers = 0
        self._session: Session | None = None
        self._scratch = contextlib.ExitStack()
        self._verdict: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        """What was seen until now; after the block: all of it."""
        if self._verdict is not None:
            return self._verdict
        if self._session is None:
            raise RuntimeError(
                "there is no verdict before the block: with tundish.doctor() as doctor: ..."
            )
        return self._judged(self._session.write(), "")

    @property
    def is_done(self) -> bool:
        """Whether all is measured: the loop goes on unwatched."""
        return self._session is not None and self._session.watch.phase == "done"

    def __enter__(self) -> doctor:
        if not _active.acquire(blocking=False):
            raise RuntimeError("another tundish.doctor() is active: one loop at a time")
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

    def _judged(self, facts: dict[str, Any], ended: str) -> Verdict:
        verdict = judge(facts, ended)
        verdict.table = self._table
        return verdict
