"""Measures every layer in a few extra steps: the first step counts operations, the others are timed.

Counting slows operations down, so counted steps are not timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ..median import median
from .layer_clocks import NoClock, Seconds, WallClock, gpu_clock
from .layer_facts import LayerFacts, LayersFacts
from .modules import Module, Modules
from .refusal import refusal_reason
from .roof import measure_roof
from .tracker import OUTSIDE, Tracker
from .trials import with_trials

MOST_SLEEP_S = 0.2
_CYCLES_PER_S = 1.8e9  # clock rate of a typical GPU
_HOOKS_S = 40e-6  # estimated host overhead per module


class LayerProfile:
    """Measures the layers of a model. Call start(), step_ended() after each step, then stop().

    Never raises. If there is no result, `missing_reason` explains why.
    """

    def __init__(self) -> None:
        self.result: LayersFacts | None = None
        self.missing_reason = ""
        self._tracker: Tracker | None = None
        self._counter: Any = None
        self._steps: list[Seconds] = []
        self._counting = False
        self._device: Any = None
        self._sleep_s = 0.0
        self._slept = False

    def start(
        self,
        model: Any,
        thread: int,
        host_s: float,
        is_in_step: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Starts measuring. Returns False if nothing can be measured.

        `host_s` is the host time of forward and backward in a normal step. `is_in_step` returns
        whether a module call belongs to the training step.
        """
        try:
            self.missing_reason = refusal_reason(model)
            if not self.missing_reason:
                self._start(model, thread, host_s, is_in_step)
        except Exception as error:
            self._fail(error)
        return not self.missing_reason

    def _start(
        self, model: Any, thread: int, host_s: float, is_in_step: Callable[[], bool]
    ) -> None:
        from .operations import OperationCounter

        torch = sys.modules["torch"]
        first = next(model.parameters(), None)
        device = first.device if first is not None else torch.device("cpu")
        if device.type not in ("cpu", "cuda"):
            self.missing_reason = (
                f"the model is on {device.type}: layers can be measured on CPUs and NVIDIA GPUs"
            )
            return
        self._device = device
        modules = Modules()
        modules.add_root(model)
        self._sleep_s = min(MOST_SLEEP_S, 1.5 * host_s + _HOOKS_S * len(modules.all))
        self._tracker = tracker = Tracker(modules)
        self._counter = OperationCounter(lambda: tracker.current)
        self._counting = tracker.observes = True
        tracker.around = self._around
        tracker.before_root = self._before_root
        tracker.is_in_step = is_in_step
        tracker.start(thread)

    def _around(self) -> AbstractContextManager[Any]:
        return self._counter if self._counting else nullcontext()

    def _before_root(self) -> None:
        """Queues work that keeps the GPU busy, so that the host gets ahead of the GPU.

        The events then measure the GPU's work, without waits for kernel launches.
        """
        if not self._counting and not self._slept and self._device.type == "cuda":
            self._slept = True
            sys.modules["torch"].cuda._sleep(int(self._sleep_s * _CYCLES_PER_S))

    def step_ended(self) -> None:
        tracker = self._tracker
        if tracker is None:
            return
        try:
            if self._counting:
                self._counting = tracker.observes = False
                tracker.clock = gpu_clock() if self._device.type == "cuda" else WallClock()
            else:
                self._steps.append(tracker.clock.step_ended())
            self._slept = False
        except Exception as error:
            self._fail(error)

    def stop(self, complete: bool = True) -> None:
        """Ends the measurement. Computes the result if all steps ran (`complete`)."""
        tracker, self._tracker = self._tracker, None
        if tracker is None:
            return
        try:
            tracker.stop()
            self.missing_reason = self.missing_reason or tracker.failed
            steps = [seconds for seconds in self._steps if any(owner >= 0 for owner, _ in seconds)]
            if not complete and not self.missing_reason:
                self.missing_reason = "the script ended before the layers were measured"
            elif not steps and not self.missing_reason:
                self.missing_reason = "the model made no forward and backward pass in these steps"
            if not self.missing_reason:
                torch = sys.modules["torch"]
                on_gpu = self._device.type == "cuda"
                with torch.cuda.device(self._device) if on_gpu else nullcontext():
                    self.result = self._result(tracker, steps)
        except Exception as error:
            self._fail(error)
        self._counter, self._steps = None, []

    def abandon(self) -> None:
        """Removes the hooks in a forked child."""
        tracker, self._tracker = self._tracker, None
        if tracker is not None:
            tracker.clock = NoClock()
            tracker.stop()

    def _fail(self, error: Exception) -> None:
        self.missing_reason = f"{type(error).__name__}: {error}"
        self.abandon()

    def _result(self, tracker: Tracker, steps: list[Seconds]) -> LayersFacts:
        rows = [
            _row(number, module, self._counter.counts.get(number), steps)
            for number, module in enumerate(tracker.modules.all)
            if module.calls
            or any((number, back) in step for step in steps for back in (False, True))
        ]
        needed = {name for row in rows for name in row.types}
        if self._device.type == "cuda":
            needed.add("bf16")  # to know the rate of the Tensor Cores
            rows = with_trials(rows, self._device)
        return LayersFacts(
            device=self._device.type,
            steps=len(steps),
            outside_s=_median_s(steps, OUTSIDE, True),
            total_s=median(sum(step.values()) for step in steps),
            counts_missing_reason=self._counter.failed,
            roof=measure_roof(self._device, needed),
            rows=rows,
        )


def _median_s(steps: list[Seconds], number: int, backward: bool) -> float:
    return median(step.get((number, backward), 0.0) for step in steps)


def _row(number: int, module: Module, counted: Any, steps: list[Seconds]) -> LayerFacts:
    row = LayerFacts(
        name=module.name,
        type=module.type,
        order=module.order,
        calls=module.calls,
        parameters=module.parameters,
        conv=module.conv,
        shape_in=module.shape_in,
        shape_out=module.shape_out,
        layout_in=module.layout_in,
        layout_out=module.layout_out,
        branches=module.branches,
        forward_s=_median_s(steps, number, False),
        backward_s=_median_s(steps, number, True),
    )
    if not counted:
        return row
    return replace(
        row,
        flops=counted.flops,
        bytes=counted.bytes,
        operations=counted.operations,
        by_kind=dict(counted.by_kind),
        types=dict(counted.types),
        products=sorted(counted.products),
        tokens=counted.tokens,
        layout_bytes=counted.layout_bytes,
        unknown=counted.unknown,
    )


Measure = Callable[[], None]


def measure_layers(
    model: Any, step: Measure, thread: int, steps: int, host_s: float
) -> LayerProfile:
    """Measures the layers of `model`. `step` is a function that runs one forward and backward pass."""
    profile = LayerProfile()
    if not profile.start(model, thread, host_s):
        return profile
    made = 0
    try:
        while made < 1 + steps:
            step()
            made += 1
            profile.step_ended()
    finally:
        profile.stop(complete=made == 1 + steps)
    return profile
