"""The recorder for `--memory-lines`: records allocations in some steps and explains the last peak."""

from __future__ import annotations

import gc
import logging
from dataclasses import replace
from typing import Any

import torch

from ...tuning.batch_structure import tensors_of
from ...tuning.memory.training_tensors import find_owners, owned_tensors
from ..probe.layers.eager_code import run_eagerly
from ..probe.profiles.recorded_facts import MemoryFacts, PredictedMemory
from .allocation_sites import current_site
from .cpu_blocks import CpuTracker
from .cuda_blocks import CudaTracker
from .explain import explain
from .predicted import autocast_type, predict, to_meta_tensors

# Parts of a step for which no mark is recorded: the doctor's own work.
_UNMARKED_PARTS = ("own",)


class MemoryRecorder:
    """Records memory in a few steps of the training loop. All methods run in the loop's thread."""

    def __init__(self, steps: int) -> None:
        self.steps, self.failed = steps, ""
        self._tracker: CpuTracker | CudaTracker | None = None
        self._model: Any = None
        self._owners: list[Any] = []
        self._hook: Any = None
        self._shapes: Any = None  # arguments of the model as meta tensors
        self._autocast: torch.dtype | None = None
        self._seen = 0
        self._facts: MemoryFacts | None = None

    def start(self, watch: Any) -> None:
        self._model = watch.observed.largest_root()
        if self._model is None:
            raise RuntimeError("the loop calls no torch module")
        gc.collect()  # models that are no longer used must not be counted
        self._owners = find_owners()
        device = next((p.device for p in self._model.parameters()), torch.device("cpu"))
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"recording memory is not supported on {device.type}")
        tracker = CudaTracker(device) if device.type == "cuda" else CpuTracker(device)
        self._tracker = tracker
        tracker.begin(owned_tensors(self._owners))
        self._hook = self._model.register_forward_pre_hook(self._called, with_kwargs=True)

    def _called(self, model: Any, args: Any, kwargs: Any) -> None:
        if self._tracker is not None and torch.is_grad_enabled():
            with self._tracker.paused():
                self._shapes = to_meta_tensors(args, kwargs)
            self._autocast = autocast_type(_device_type(model))

    def changed(self, ended: str, since: float, now: float, begins: str) -> None:
        tracker = self._tracker
        if tracker is None or begins in _UNMARKED_PARTS:
            return
        with tracker.paused():
            if begins == "optimizer":  # all gradients exist now
                tracker.name_owned(owned_tensors(self._owners))
        tracker.mark(begins, current_site())

    def step_ended(self, batch: Any) -> None:
        tracker = self._tracker
        if tracker is None:
            return
        with tracker.paused():
            gc.collect()  # reference cycles are freed eventually, so they are no leak
            tracker.name_owned(owned_tensors(self._owners))
            tracker.step_ended([] if batch is None else list(tensors_of(batch)))
        self._seen += 1

    def stop(self) -> None:
        tracker, self._tracker = self._tracker, None
        if tracker is None:
            return
        if self._hook is not None:
            self._hook.remove()
        tracker.end()
        if not self._seen:
            return
        self._facts = facts = explain(tracker.recorded())
        if hasattr(self._model, "_orig_mod") and isinstance(tracker, CpuTracker):
            facts.notes.append("the compiled model ran uncompiled in the recorded steps")
        try:
            self._facts = replace(facts, predicted=self._prediction())
        except Exception as error:
            self._facts = replace(
                facts, predicted_missing_reason=f"{type(error).__name__}: {error}"
            )
        finally:
            self._model, self._shapes = None, None
            self._owners.clear()

    def _prediction(self) -> PredictedMemory:
        optimizers = [owner for owner in self._owners if isinstance(owner, torch.optim.Optimizer)]
        devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
        # torch logs an error if the model cannot run on fake tensors; this is an expected case
        silent = logging.getLogger("torch._subclasses.fake_tensor")
        before, silent.disabled = silent.disabled, True
        try:
            return self._predicted(optimizers, devices)
        finally:
            silent.disabled = before

    def _predicted(self, optimizers: list[Any], devices: list[int]) -> PredictedMemory:
        with torch.random.fork_rng(devices=devices), run_eagerly():
            return predict(self._model, optimizers, self._shapes, self._autocast)

    def facts(self) -> MemoryFacts | None:
        return self._facts


def _device_type(model: Any) -> str:
    return next((str(p.device.type) for p in model.parameters()), "cpu")
