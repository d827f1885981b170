"""Recorders for the timeline, function times and memory, each in its own phase after the measured steps.

A recorder slows down its steps, so these steps do not count in the figures. An error in a recorder
must not end the script. It is stored in `failed`.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from .clocks.step_ledger import StepLedger
from .profiles.function_times import FunctionTimes
from .profiles.timeline_steps import TimelineRecorder
from .settings import Settings


class Recorder(Protocol):
    """Interface of an object that records some steps. All methods run in the loop's thread."""

    steps: int  # number of steps to record
    failed: str

    def start(self, watch: Any) -> None: ...

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        """Called when the part `ended` ends and the part `begins` begins, in time.perf_counter() time."""

    def step_ended(self, batch: Any) -> None:
        """Called at the end of a step. `batch` is the last batch of the step."""

    def stop(self) -> None: ...

    def facts(self) -> Any: ...


class NoRecorder:
    """Stands in for a recorder that could not be created."""

    def __init__(self, failed: str) -> None:
        self.steps, self.failed = 0, failed

    def start(self, watch: Any) -> None: ...
    def changed(self, ended: str, since: float, now: float, begins: str) -> None: ...
    def step_ended(self, batch: Any) -> None: ...
    def stop(self) -> None: ...
    def facts(self) -> Any: ...


class Guarded:
    """Wraps a recorder and catches its errors. Recording ends at the first error."""

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
        ledger: StepLedger = watch.ledger
        ledger.listener = self.changed

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        if self._running:
            self._call("changed", ended, since, now, begins)

    def step_ended(self, batch: Any) -> None:
        if self._running:
            self._call("step_ended", batch)

    def stop(self, ledger: StepLedger) -> None:
        ledger.listener = None
        if self._running:
            self._running = False
            self._call("stop")

    def facts(self) -> Any:
        return self._inner.facts()

    def _call(self, name: str, *args: Any) -> None:
        try:
            getattr(self._inner, name)(*args)
        except Exception as error:
            self._inner.failed = f"{type(error).__name__}: {error}"
            if self._running:
                self._running = False
                self._call("stop")  # turn off everything that the recorder has turned on


def make_recorders(settings: Settings) -> dict[str, Guarded]:
    """Creates the requested recorders. Returns them by the name of their phase."""
    found: dict[str, Recorder] = {}
    if settings.timeline:
        found["timeline"] = TimelineRecorder(settings.timeline_folder, settings.timeline)
    if settings.functions:
        found["functions"] = FunctionTimes(settings.functions)
    if settings.memory:
        found["memory"] = _memory_recorder(settings.memory)
    return {name: Guarded(recorder) for name, recorder in found.items()}


def _memory_recorder(steps: int) -> Recorder:
    """Returns the memory recorder of the script's tundish package, which imports torch when it starts."""
    return _LazyRecorder("tundish.diagnosis.memory.recorder", "MemoryRecorder", steps)


class _LazyRecorder:
    """A recorder that is imported when its phase begins."""

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

    def facts(self) -> Any:
        return self._inner.facts()
