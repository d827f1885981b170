"""Watches the training loop of one process, from start to exit."""

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

INSPECTION_S = 2.0  # time limit for each of two passes over the dataset, without and with profiling
SHORT_INSPECTION_S = 0.5  # time limit if the script ends by itself or by Ctrl-C
LEAST_STEPS_TO_INSPECT = 10  # the loader is not inspected after fewer steps


class Session:
    """Watches this process. Writes the facts to `folder` repeatedly, in case the process is killed."""

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
        """Ends the measurement and returns the facts. May be called more than once."""
        self.hooks.uninstall()
        self.watch.end()
        self._measure_overhead()
        if self._loader is None and self.settings.inspect:
            # Write the facts now, because a second Ctrl-C may interrupt the inspection.
            found = self.write()
            if len(self.watch.steps) < LEAST_STEPS_TO_INSPECT:
                return found
            self._loader, self._failed = inspect_loader(self.watch, SHORT_INSPECTION_S, at_end=True)
        return self.write()

    def write(self) -> Facts:
        loader = self._loader
        if loader is None:  # not inspected yet, so at least write the settings, in case of a kill
            loader, _ = inspect_loader(self.watch, 0.0)
        found = collect_facts(self.watch, loader, self._failed, self._cost_s, self.hooks.applied)
        if self._folder and os.getpid() == self._pid and found.torch is not None:
            save(self._folder, found)
        return found

    def _measure_overhead(self) -> None:
        """Measures the overhead once, after the measured steps, because GPU events make this slow."""
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
            raise SystemExit(0)  # not a subclass, for which threading would print a traceback


def report_unwatched(error: Exception) -> None:
    """Prints to stderr why the process is not watched. Ignores errors if stderr is closed or full."""
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
                return  # a second interrupt; keep the facts that have been written
            except Exception as error:
                report_unwatched(error)

    atexit.register(end_session)

    def restart_in_child() -> None:
        current[0].watch.layers.abandon()
        current[0].hooks.uninstall()
        current[0].watch.phase = "done"  # a hook that the script has wrapped stays but does nothing
        current[0].watch.cached_batches.clear()
        current[0] = Session(settings, folder)
        current[0].begin()

    os.register_at_fork(after_in_child=restart_in_child)
    return session
