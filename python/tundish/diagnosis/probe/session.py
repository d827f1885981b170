"""Watches one process from start to exit."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from .collect import collect_facts, inspect_loader, save
from .facts import Facts, LoaderFacts
from .hooks import Hooks
from .overhead import overhead_s
from .settings import VARIABLE, Settings, from_variable
from .watch import Watch

INSPECTION_S = 2.0  # seconds for each of two passes over the loader's dataset: plain and profiled
SHORT_INSPECTION_S = 0.5  # if the script ends by itself or by Ctrl-C
LEAST_STEPS_TO_INSPECT = 10  # steps


class Session:
    """Watches this process. `folder`: the facts are written here repeatedly, in case of a kill."""

    def __init__(self, settings: Settings, folder: str | None) -> None:
        self.settings = settings
        self._folder = folder
        self._loader: LoaderFacts | None = None
        self._failed = ""
        self._finished = False
        self._cost_s: float | None = None
        self._pid = os.getpid()
        self.watch = Watch(settings, self._phase_changed)
        self.hooks = Hooks(self.watch, self._finish, self._give_up)

    def begin(self) -> None:
        self.hooks.install()

    def end(self) -> Facts:
        """Ends the watch and returns the facts. May be called more than once."""
        self.hooks.uninstall()
        self.watch.end()
        self._measure_overhead()
        if self._loader is None and self.settings.inspect:
            # Written now, because a second Ctrl-C may interrupt the inspection.
            found = self.write()
            if len(self.watch.steps) < LEAST_STEPS_TO_INSPECT:
                return found
            self._loader, self._failed = inspect_loader(self.watch, SHORT_INSPECTION_S, at_end=True)
        return self.write()

    def write(self) -> Facts:
        loader = self._loader
        if loader is None:  # not inspected yet: write the settings at least, in case of a kill
            loader, _ = inspect_loader(self.watch, 0.0)
        found = collect_facts(self.watch, loader, self._failed, self._cost_s, self.hooks.applied)
        if self._folder and os.getpid() == self._pid and found.torch is not None:
            save(self._folder, found)
        return found

    def _measure_overhead(self) -> None:
        """Measures the overhead once, after the measured steps. GPU events make this slow."""
        if self._cost_s is None:
            self._cost_s = overhead_s(self.watch)

    def _phase_changed(self, watch: Watch) -> None:
        if watch.phase != "measure":
            self._measure_overhead()
        if watch.phase == "done" and self.settings.inspect:
            self._loader, self._failed = inspect_loader(watch, INSPECTION_S)
        if watch.phase != "done" or self.settings.stop:
            self.write()

    def _give_up(self, error: Exception) -> None:
        self.watch.give_up(error)
        if self._folder:
            report_unwatched(error)
            with contextlib.suppress(Exception):
                self.write()

    def _finish(self) -> None:
        """Called when everything is measured."""
        if self._finished:
            return
        self._finished = True
        self.write()
        if self.settings.stop:
            raise SystemExit(0)  # no subclass: threading prints a traceback for it


def report_unwatched(error: Exception) -> None:
    """Prints why the process is not watched to stderr, which may be closed or full."""
    with contextlib.suppress(Exception):
        text = f"tundish: the script runs on unwatched: {type(error).__name__}: {error}\n"
        sys.stderr.write(text)


def begin_from_environment() -> None:
    """Called by sitecustomize.py in each Python process of the doctor's command."""
    begin_in_script(*from_variable(os.environ[VARIABLE]))


def begin_in_script(folder: str, settings: Settings) -> Session:
    """Starts a session in the process of the user's script, and a new one in each forked child."""
    session = Session(settings, folder)
    session.begin()
    current = [session]

    def end_session() -> None:
        if os.getpid() == current[0]._pid:
            try:
                current[0].end()
            except KeyboardInterrupt:
                return  # the second one: what is written stays
            except Exception as error:
                report_unwatched(error)

    atexit.register(end_session)

    def restart_in_child() -> None:
        current[0].watch.layers.abandon()
        current[0].hooks.uninstall()
        current[0].watch.phase = "done"  # a hook that the script has wrapped stays, but is silent
        current[0].watch.cached_batches.clear()
        current[0] = Session(settings, folder)
        current[0].begin()

    os.register_at_fork(after_in_child=restart_in_child)
    return session
