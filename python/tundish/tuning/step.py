"""One training step: forward, loss, backward, gradient clipping and optimizer update.

Without tricks, a step is the body of a plain training loop:

    optimizer.zero_grad(); loss = loss_fn(model(inputs), targets); loss.backward(); optimizer.step()

A trick changes attributes of the step and flags of torch. The step trains your model with your
optimizer, so checkpoints and learning rate schedulers keep working.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .._c.errors import ArgumentError
from .batch_structure import map_tensors, only_values_differ, signature, split_samples

LossFunction = Callable[..., torch.Tensor]


def takes_model(loss_fn: LossFunction) -> bool:
    """Returns whether the loss is called as loss_fn(model, batch).

    This form is for training steps that cannot be written as loss_fn(model(inputs), *targets).
    """
    try:
        names = list(inspect.signature(loss_fn).parameters)
    except (TypeError, ValueError):
        return False
    return names[:1] == ["model"]


def is_mean(loss_fn: LossFunction) -> bool:
    """Returns whether the loss is a mean over samples rather than a sum.

    The answer decides how gradient accumulation weights the loss of a micro-batch. Reads `reduction`
    from torch's losses and from a functools.partial; assumes a mean for any other loss.
    """
    keywords = getattr(loss_fn, "keywords", {})
    return bool(getattr(loss_fn, "reduction", keywords.get("reduction", "mean")) != "sum")


class Step:
    """One training step: `step(batch)` trains on a batch and returns the detached loss.

    The loss is `loss_fn(model(batch[0]), *batch[1:])`. If the first parameter of `loss_fn` is named
    `model`, the loss is `loss_fn(model, batch)`. Tricks change the step, as in `Bf16().apply(step)`.
    """

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction
    ) -> None:
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self._loss_takes_model = takes_model(loss_fn)
        self.mean_loss = is_mean(loss_fn)
        # Set by tricks.
        self.autocast: torch.dtype | None = None
        self.scaler: Any = None  # a torch.amp.GradScaler
        self.channels_last = False
        self.compile_options: dict[str, Any] | None = None  # arguments of torch.compile
        self.capture = False  # replay the whole step as one CUDA graph
        self.must_capture = False  # raise instead of falling back to a step without the graph
        self.accumulate = 1  # micro-batches per step
        self.max_norm: float | None = None
        self.set_to_none = True
        self.shapes_vary = False  # whether later batches may have other shapes
        self.updater: Any = (
            None  # replaces optimizer.step(); shares the optimizer's groups and state
        )
        self.before_update: Callable[[], None] | None = None
        self.kept: dict[str, Any] = {}  # values that tricks need for undo()
        # Compiled or captured for the shape of the first batch.
        self.main_signature: Any = None
        self._compiled: Callable[[Any], torch.Tensor] | None = None
        self._graph: Any = None

    @property
    def device(self) -> torch.device:
        for parameter in self.model.parameters():
            return parameter.device
        return torch.device("cpu")

    def __call__(self, batch: Any, *more: Any) -> torch.Tensor:
        if more:
            count = 1 + len(more)
            raise ArgumentError(
                f"the step takes one argument, the batch, and got {count}\n"
                "  fix: pass its parts as a tuple: step((inputs, targets))"
            )
        shape = (signature(batch), self.model.training)
        if self.main_signature is None:
            self.main_signature = shape
        if shape != self.main_signature:  # the last batch of an epoch: not worth a compilation
            self._warn_about_values(shape)
            return self.train_on(batch, self.loss_of)
        if self.capture:
            return self._replay(batch)
        return self.train_on(batch, self.compiled_loss_of)

    def _warn_about_values(self, shape: Any) -> None:
        """Warns if a batch cannot use the CUDA graph or compiled code only because of non-tensor values."""
        is_special = self.capture or self.compile_options is not None
        if is_special and only_values_differ(shape, self.main_signature):
            warnings.warn(
                "the batch has values that are not tensors and differ from the first batch's: such a step runs "
                "without the CUDA graph and without compilation\n"
                "  fix: pass only tensors to the step, or the same values with every batch",
                stacklevel=3,
            )

    def _replay(self, batch: Any) -> torch.Tensor:
        from .step_graph import CannotCapture, StepGraph

        if self._graph is None:
            self._graph = StepGraph(self)
        try:
            return self._graph(batch)
        except CannotCapture as error:
            if self.must_capture:
                raise
            warnings.warn(
                f"the step cannot be captured as a CUDA graph and runs without one: {error}",
                stacklevel=3,
            )
            self.capture = False
            return self.train_on(batch, self.compiled_loss_of)

    def reset(self) -> None:
        """Discards compiled code and the CUDA graph. Call this method after changing the step."""
        self.main_signature = self._compiled = None
        if self._graph is not None:
            self._graph.release()
            self._graph = None

    def loss_of(self, batch: Any) -> torch.Tensor:
        """Computes the loss of a batch, under autocast if a trick enables it."""
        with self._autocast():
            if self._loss_takes_model:
                return self.loss_fn(self.model, batch)
            if isinstance(batch, (tuple, list)):
                return self.loss_fn(self.model(batch[0]), *batch[1:])
            return self.loss_fn(self.model(batch))

    def forward(self, batch: Any) -> None:
        """Runs the model on a batch. Calls the loss function only if it runs the model itself."""
        if self._loss_takes_model:
            self.loss_fn(self.model, batch)
        else:
            self.model(batch[0] if isinstance(batch, (tuple, list)) else batch)

    def compiled_loss_of(self, batch: Any) -> torch.Tensor:
        if self.compile_options is None:
            return self.loss_of(batch)
        if self._compiled is None:
            self._compiled = torch.compile(self.loss_of, **self.compile_options)
        return self._compiled(batch)

    def train_on(self, batch: Any, loss_of: Callable[[Any], torch.Tensor]) -> torch.Tensor:
        """Runs one step without a CUDA graph."""
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        loss = self.add_gradients(batch, loss_of)
        self.update()
        return loss

    def add_gradients(self, batch: Any, loss_of: Callable[[Any], torch.Tensor]) -> torch.Tensor:
        """Runs forward and backward pass for each micro-batch. Returns the detached loss of the batch."""
        batch = self.as_channels_last(batch)
        if self.accumulate == 1:
            loss = loss_of(batch)
            self._scaled(loss).backward()
            return loss.detach()
        total = torch.zeros((), device=self.device)
        pieces = split_samples(batch, self.accumulate)
        for i, (piece, share) in enumerate(pieces):
            with self._without_gradient_sync(last=i == len(pieces) - 1):
                loss = loss_of(piece)
                loss = loss * share if self.mean_loss else loss
                self._scaled(loss).backward()
            total = total + loss.detach()  # not in place, so that a float64 loss stays float64
        return total

    def update(self) -> None:
        """Clips the gradients and runs the optimizer's step."""
        if self.before_update is not None:
            self.before_update()
        optimizer = self.optimizer if self.updater is None else self.updater.ours
        if self.max_norm is not None:
            if self.scaler is not None:
                self.scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()
        if self.updater is not None:
            self.updater.done()

    def as_channels_last(self, batch: Any) -> Any:
        if not self.channels_last:
            return batch
        return map_tensors(
            lambda tensor: (
                tensor.contiguous(memory_format=torch.channels_last)
                if tensor.dim() == 4 and tensor.is_floating_point()
                else tensor
            ),
            batch,
        )

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        return loss if self.scaler is None else self.scaler.scale(loss)

    def _autocast(self) -> Any:
        if self.autocast is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.autocast)

    def _without_gradient_sync(self, last: bool) -> Any:
        """Defers DDP's gradient synchronization to the last micro-batch."""
        no_sync = getattr(self.model, "no_sync", None)
        return contextlib.nullcontext() if last or no_sync is None else no_sync()
