"""`with tundish.doctor() as doctor:` around a training loop, also in a notebook."""

from __future__ import annotations

import threading
from typing import Any

from ..watch.session import Session
from ..watch.settings import Settings
from .verdict import Verdict, judge

_active = threading.Lock()


class doctor:  # a verb, as tundish.check and tundish.tune
    """Says what bounds the step of the training loop inside it.

        with tundish.doctor() as doctor:
            train(model, loader)
        print(doctor.verdict)

    steps     to measure; 0: at least 20, for at least 4 seconds
    replay    give the loop cached batches for a few steps, which shows the step if loading were free. These
              steps train on the same batches again; with False that figure is computed instead
    The loop is found by torch's optimizer steps. It must run in one process; other processes are not watched.
    """

    def __init__(self, *, steps: int = 0, replay: bool = True) -> None:
        if steps < 0 or 0 < steps < 5:
            raise ValueError(f"steps={steps}: at least 5 steps make a verdict")
        self._settings = Settings(steps=steps, stop=False)
        if not replay:
            self._settings.replayed = 0
        self._session: Session | None = None
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
        return judge(self._session.write())

    @property
    def is_done(self) -> bool:
        """Whether all is measured: the loop goes on unwatched."""
        return self._session is not None and self._session.watch.phase == "done"

    def __enter__(self) -> doctor:
        if not _active.acquire(blocking=False):
            raise RuntimeError("another tundish.doctor() is active: one loop at a time")
        self._verdict = None
        self._session = Session(self._settings, None)
        self._session.begin()
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._session is not None
        try:
            self._verdict = judge(self._session.end())
        finally:
            _active.release()
