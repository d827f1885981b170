"""One process that is watched, from its first line to its last."""

from __future__ import annotations

import atexit
import os
from typing import Any

from .facts import facts, look_inside, save
from .hooks import Ended, Hooks
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
        self._pid = os.getpid()
        self.watch = Watch(settings, self._phase_changed)
        self.hooks = Hooks(self.watch, self._finish)

    def begin(self) -> None:
        self.hooks.install()

    def end(self) -> dict[str, Any]:
        """The facts. Safe to call more than once."""
        self.hooks.uninstall()
        self.watch.end()
        if self._loader is None:
            self._loader, self._failed = look_inside(self.watch, 0.0)
            values = self.write()  # a second Ctrl-C may end what follows
            if len(self.watch.steps) < LOOKED_INTO_FROM:
                return values
            self._loader, self._failed = look_inside(self.watch, SHORT_LOOK_S, at_end=True)
        return self.write()

    def write(self) -> dict[str, Any]:
        values = facts(self.watch, self._loader, self._failed)
        applied = self.hooks.applied
        values["applied"] = None if applied is None else applied.as_json()
        if self._folder and os.getpid() == self._pid and values["torch"] is not None:
            save(self._folder, values)
        return values

    def _phase_changed(self, watch: Watch) -> None:
        if watch.phase == "done":
            self._loader, self._failed = look_inside(watch, LOOK_S)
        if watch.phase != "done" or self.settings.stop:
            self.write()

    def _finish(self) -> None:
        """Everything is measured."""
        if self._finished:
            return
        self._finished = True
        self.write()
        if self.settings.stop:
            raise Ended(0)


def begin_in_script(folder: str, settings: Settings) -> Session:
    """Of a process that runs the user's script; its children by fork are watched anew."""
    session = Session(settings, folder)
    session.begin()
    current = [session]
    atexit.register(lambda: current[0].end() if os.getpid() == current[0]._pid else None)

    def forked() -> None:
        current[0].hooks.uninstall()
        current[0].watch.batches_kept.clear()
        current[0] = Session(settings, folder)
        current[0].begin()

    os.register_at_fork(after_in_child=forked)
    return session
