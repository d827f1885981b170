"""One process that is watched, from its first line to its last."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any

from .facts import facts, look_inside, save
from .hooks import Ended, Hooks
from .overhead import overhead_s
from .settings import Settings
from .watch import Watch

LOOK_S = 2.0  # into the loader's data set, twice: plain, and with a profile
SHORT_LOOK_S = 0.5  # where the script ends by itself or by Ctrl-C
LOOKED_INTO_FROM = 10  # steps


class Session:
    """`folder`: where the facts go, also from time to time, because a process can be killed."""

    def __init__(self, settings: Settings, folder: str | None) -> None:
        self.settings = settings
        self._folder = folder
        self._loader: dict[str, Any] | None = None
        self._failed = ""
        self._finished = False
        self._cost_s: float | None = None
        self._pid = os.getpid()
        self.watch = Watch(settings, self._phase_changed)
        self.hooks = Hooks(self.watch, self._finish, self._give_up)

    def begin(self) -> None:
        self.hooks.install()

    def end(self) -> dict[str, Any]:
        """The facts. Safe to call more than once."""
        self.hooks.uninstall()
        self.watch.end()
        self._time_hooks()
        if self._loader is None:
            values = self.write()  # a second Ctrl-C may end what follows
            if len(self.watch.steps) < LOOKED_INTO_FROM:
                return values
            self._loader, self._failed = look_inside(self.watch, SHORT_LOOK_S, at_end=True)
        return self.write()

    def write(self) -> dict[str, Any]:
        loader = self._loader
        if loader is None:  # not looked into yet; a process that is killed leaves its settings
            loader, _ = look_inside(self.watch, 0.0)
        values = facts(self.watch, loader, self._failed, self._cost_s)
        applied = self.hooks.applied
        values["applied"] = None if applied is None else applied.as_json()
        if self._folder and os.getpid() == self._pid and values["torch"] is not None:
            save(self._folder, values)
        return values

    def _time_hooks(self) -> None:
        """Once, when steps were measured: with events of a GPU it takes as long as some steps."""
        if self._cost_s is None:
            self._cost_s = overhead_s(self.watch)

    def _phase_changed(self, watch: Watch) -> None:
        if watch.phase != "measure":
            self._time_hooks()
        if watch.phase == "done":
            self._loader, self._failed = look_inside(watch, LOOK_S)
        if watch.phase != "done" or self.settings.stop:
            self.write()

    def _give_up(self, error: Exception) -> None:
        self.watch.give_up(error)
        if self._folder:
            tell_unwatched(error)
            with contextlib.suppress(Exception):
                self.write()

    def _finish(self) -> None:
        """Everything is measured."""
        if self._finished:
            return
        self._finished = True
        self.write()
        if self.settings.stop:
            raise Ended(0)


def tell_unwatched(error: Exception) -> None:
    """On stderr, which may be closed or full."""
    with contextlib.suppress(Exception):
        text = f"tundish: the script goes on unwatched: {type(error).__name__}: {error}\n"
        sys.stderr.write(text)


def begin_in_script(folder: str, settings: Settings) -> Session:
    """Of a process that runs the user's script; its children by fork are watched anew."""
    session = Session(settings, folder)
    session.begin()
    current = [session]

    def ended() -> None:
        if os.getpid() == current[0]._pid:
            try:
                current[0].end()
            except KeyboardInterrupt:
                return  # the second one: what is written stays
            except Exception as error:
                tell_unwatched(error)

    atexit.register(ended)

    def forked() -> None:
        current[0].watch.layers.abandon()
        current[0].hooks.uninstall()
        current[0].watch.batches_kept.clear()
        current[0] = Session(settings, folder)
        current[0].begin()

    os.register_at_fork(after_in_child=forked)
    return session
