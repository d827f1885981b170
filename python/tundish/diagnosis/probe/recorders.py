"""What is recorded in steps of its own, after the measured ones: a phase each.

A recorder slows the steps that it sees, so those are not in the figures. None of them may end the
script: what goes wrong is in `failed`.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from .clocks.step_ledger import Ledger
from .profiles.function_times import FunctionTimes
from .profiles.timeline_steps import TimelineRecorder
from .settings import Settings


class Recorder(Protocol):
    """All functions are called by the loop's thread."""

    steps: int  # that it wants to see
    failed: str

    def start(self, watch: Any) -> None: ...

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        """Another part of the step begins. Seconds of time.perf_counter()."""

    def step_ended(self, batch: Any) -> None:
        """`batch`: the last one of this step."""

    def stop(self) -> None: ...

    def as_json(self) -> Any: ...


class NoRecorder:
    """In the place of one that could not be made."""

    def __init__(self, failed: str) -> None:
        self.steps, self.failed = 0, failed

    def start(self, watch: Any) -> None: ...
    def changed(self, ended: str, since: float, now: float, begins: str) -> None: ...
    def step_ended(self, batch: Any) -> None: ...
    def stop(self) -> None: ...
    def as_json(self) -> Any: ...


class Guarded:
    """A recorder whose errors are words. After the first one it records no more."""

    def __init__(self, inner: Recorder) -> None:
        self._inner = inner
        self._running = False

    @property
    def steps(self) -> int:
        return self._inner.steps

    @property
    def failed(self) -> str:
        return self._inner.failed

    def start(self, watch: Any) -> None:
        self._running = True
        self._call("start", watch)
        ledger: Ledger = watch.ledger
        ledger.listener = self.changed

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        if self._running:
            self._call("changed", ended, since, now, begins)

    def step_ended(self, batch: Any) -> None:
        if self._running:
            self._call("step_ended", batch)

    def stop(self, ledger: Ledger) -> None:
        ledger.listener = None
        if self._running:
            self._running = False
            self._call("stop")

    def as_json(self) -> Any:
        return self._inner.as_json()

    def _call(self, name: str, *words: Any) -> None:
        try:
            getattr(self._inner, name)(*words)
        except Exception as error:
            self._inner.failed = f"{type(error).__name__}: {error}"
            if self._running:
                self._running = False
                self._call("stop")  # what it switched on is switched off


def make_recorders(settings: Settings) -> dict[str, Guarded]:
    """By the name of their phase; only those that are asked for."""
    found: dict[str, Recorder] = {}
    if settings.timeline:
        found["timeline"] = TimelineRecorder(settings.timeline_folder, settings.timeline)
    if settings.functions:
        found["functions"] = FunctionTimes(settings.functions)
    if settings.memory:
        found["memory"] = _memory_recorder(settings.memory)
    return {name: Guarded(one) for name, one in found.items()}


def _memory_recorder(steps: int) -> Recorder:
    """Tundish's own tracker, of the script's interpreter: it needs torch, which is imported later."""
    return _Late("tundish.diagnosis.memory.recorder", "MemoryRecorder", steps)


class _Late:
    """Imports the recorder when its phase begins."""

    def __init__(self, module: str, name: str, steps: int) -> None:
        self._module, self._name = module, name
        self.steps, self.failed = steps, ""
        self._inner: Any = NoRecorder("")

    def start(self, watch: Any) -> None:
        try:
            module = importlib.import_module(self._module)
        except ModuleNotFoundError:
            raise RuntimeError("tundish is not installed for the script's Python") from None
        self._inner = getattr(module, self._name)(self.steps)
        self._inner.start(watch)

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        self._inner.changed(ended, since, now, begins)

    def step_ended(self, batch: Any) -> None:
        self._inner.step_ended(batch)

    def stop(self) -> None:
        self._inner.stop()

    def as_json(self) -> Any:
        return self._inner.as_json()
