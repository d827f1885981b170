"""Measures the doctor's overhead per step, by calling all hooks of a step on functions that do nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .clocks.step_ledger import StepLedger
from .hooks import Hooks
from .settings import Settings
from .watch import Watch

_USUAL_CHANGES = 12  # number of part changes in _Step


def overhead_s(watch: Watch) -> float:
    """Returns the overhead in seconds per measured step. Profiled steps have a larger overhead."""
    if not watch.steps:
        return 0.0
    count = len(watch.steps)
    step = _Step(watch.ledger.make_event)
    per_change = _least_s(step.change) / 2
    per_call = max(0.0, _least_s(step.inner_call) - _least_s(_nothing))
    more_changes = max(0.0, watch.ledger.changes / count - _USUAL_CHANGES)
    calls = watch.module_calls / count
    return _least_s(step.run, calls=20) + more_changes * per_change + calls * per_call


class _Step:
    """A training step that does no work."""

    def __init__(self, make_event: Callable[[], Any] | None) -> None:
        self._watch = watch = Watch(Settings(steps=10**9, cached_batches=0), lambda watch: None)
        watch.thread = threading.get_ident()
        watch.ledger = StepLedger(make_event=make_event)
        self._hooks = hooks = Hooks(watch, lambda: None)
        self._next = hooks._next(lambda iterator: None)(lambda iterator: None)
        self._zero_grad = hooks._part("zero_grad")(_nothing)
        self._backward = hooks._backward(_nothing)
        self._forward = hooks._module_call(_nothing)
        self._model = _Model()

    def run(self) -> None:
        self._next(self._model)
        self._zero_grad()
        self._forward(self._model)
        self._backward()
        self._hooks._optimizer_begins(None, (), {})
        self._hooks._optimizer_ends(self, (), {})
        self._watch.steps.clear()

    def change(self) -> None:
        self._watch.ledger.enter("forward")
        self._watch.ledger.leave()

    def inner_call(self) -> None:
        """Calls a module inside another module."""
        self._hooks._depth.inside = True
        self._forward(self._model)
        self._hooks._depth.inside = False


class _Model:
    training = True


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


def _least_s(function: Callable[..., object], rounds: int = 10, calls: int = 100) -> float:
    """Returns the mean duration of a call, in the fastest of several rounds, to reduce noise."""
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        found.append((time.perf_counter() - begin) / calls)
    return min(found)
