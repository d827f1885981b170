"""A whole training step as one CUDA graph, replayed with one launch to save host time.

The first steps run normally, on the stream that is captured later. They are real training steps. They also
create what cannot be created during a capture: handles, workspaces and optimizer state. Then the step is
captured, which executes nothing, and all later steps replay the graph.

The graph reads the learning rate from a tensor, so a scheduler can change the rate. All other optimizer
options are part of the graph; if one changes, the step is captured again. The same holds for the state that
captured_state.py watches, such as frozen parameters. An optimizer that cannot be captured runs outside the
graph, which then contains only the forward and backward pass.
"""

from __future__ import annotations

import contextlib
import gc
import os
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from .batch_structure import map_tensors, tensors_of
from .captured_state import CapturedState

if TYPE_CHECKING:
    from .step import Step

WARM_UP_STEPS = 3
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class CannotCapture(RuntimeError):
    """Raised for an operation that cannot be part of a CUDA graph. The message names it and its line."""


class StepGraph:
    """A captured step, called like the step itself, for batches of one shape.

    Single-threaded. Owns the memory of the graph.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._stream = torch.cuda.Stream(step.device)
        self._warm = 0
        self._graph: Any = None
        self._batch: Any = None  # input of the graph
        self._loss: Any = None  # output of the graph
        self._gradients: list[tuple[Any, Any]] = []
        self._options: Any = None
        self._captured: CapturedState | None = None
        self._rates: list[torch.Tensor] = []
        self._rates_filled: list[float] = []
        self.with_optimizer = can_capture(step)

    def __call__(self, batch: Any) -> torch.Tensor:
        if self._graph is not None and self._options != options_of(self._step.optimizer):
            self.release()
        if self._captured is not None and not self._captured.is_current():
            self.release()
            self._warm = 0  # the optimizer may have to create its states again
        if self._graph is None:
            if self._warm < WARM_UP_STEPS:
                self._warm += 1
                return self._run_on_stream(batch)
            self._capture(batch)
        self._fill_rates()
        for to, tensor in zip(tensors_of(self._batch), tensors_of(batch)):
            to.copy_(tensor, non_blocking=True)
        for parameter, gradient in self._gradients:
            if parameter.grad is not gradient:  # a step outside the graph has replaced it
                parameter.grad = gradient
        self._graph.replay()
        if not self.with_optimizer:
            self._step.update()
        return self._loss.clone()

    def release(self) -> None:
        if self._graph is not None:
            torch.cuda.synchronize(self._step.device)
            self._graph.reset()
        for parameter, gradient in self._gradients:
            if parameter.grad is gradient:
                parameter.grad = None
        self._graph = self._batch = self._loss = self._captured = None
        self._gradients = []

    def _run_on_stream(self, batch: Any) -> torch.Tensor:
        current = torch.cuda.current_stream(self._step.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            loss = self._step.train_on(batch, self._step.compiled_loss_of)
        current.wait_stream(self._stream)
        loss.record_stream(current)
        return loss

    def _capture(self, batch: Any) -> None:
        step = self._step
        self._batch = map_tensors(torch.clone, batch)
        step.optimizer.zero_grad(
            set_to_none=True
        )  # so that the backward pass allocates gradients in the graph's memory
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(step.device)
        try:
            with (
                _without_collection(),
                self._rates_as_tensors(),
                torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"),
            ):
                self._loss = step.add_gradients(self._batch, step.compiled_loss_of)
                if self.with_optimizer:
                    step.update()
        except Exception as error:
            step.optimizer.zero_grad(set_to_none=True)
            self._batch = self._loss = None
            raise CannotCapture(name_cause(error)) from error
        self._graph = graph
        self._gradients = [(p, p.grad) for p in step.model.parameters() if p.grad is not None]
        self._options = options_of(step.optimizer)
        self._captured = CapturedState(step, self.with_optimizer)

    @contextlib.contextmanager
    def _rates_as_tensors(self) -> Iterator[None]:
        groups = self._step.optimizer.param_groups
        kept = [(group["lr"], group.get("capturable")) for group in groups]
        self._rates_filled = [float(rate) for rate, _ in kept]
        self._rates = [
            torch.full((), rate, dtype=torch.float32, device=self._step.device)
            for rate in self._rates_filled
        ]
        if self.with_optimizer:
            for group, rate in zip(groups, self._rates):
                group["lr"] = rate
                if "capturable" in group:
                    group["capturable"] = True
        try:
            yield
        finally:
            for group, (rate, capturable) in zip(groups, kept):
                group["lr"] = rate
                if "capturable" in group:
                    group["capturable"] = capturable

    def _fill_rates(self) -> None:
        for i, group in enumerate(self._step.optimizer.param_groups):
            rate = float(group["lr"])
            if rate != self._rates_filled[i]:
                self._rates[i].fill_(rate)
                self._rates_filled[i] = rate


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Disables garbage collection, which could free an earlier step's graph and break the capture."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def can_capture(step: Step) -> bool:
    """Returns whether the optimizer's step can be captured.

    Such an optimizer reads the learning rate on the GPU: torch's fused kernels and `tundish.optim` do.
    """
    fused = all(group.get("fused") for group in step.optimizer.param_groups)
    return fused or step.updater is not None


def options_of(optimizer: torch.optim.Optimizer) -> Any:
    """Returns the optimizer options that are part of a graph: all except the learning rate."""
    return [
        [(key, value) for key, value in group.items() if key not in ("params", "lr", "initial_lr")]
        + [len(group["params"])]
        for group in optimizer.param_groups
    ]


def name_cause(error: BaseException) -> str:
    """Returns the operation that prevents the capture, with the line of user code that called it."""
    first = error
    while first.__context__ is not None and not isinstance(first.__context__, StopIteration):
        first = first.__context__
    frames = traceback.extract_tb(first.__traceback__)
    torch_folder = os.path.dirname(torch.__file__)
    own = [f for f in frames if not f.filename.startswith((_HERE, torch_folder, "<"))]
    text = str(first).strip().splitlines() or [type(first).__name__]
    if not own:
        return text[0]
    return f"{own[-1].filename}:{own[-1].lineno}: {own[-1].line}: {text[0]}"
