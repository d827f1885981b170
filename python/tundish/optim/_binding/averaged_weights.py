"""Temporarily replaces parameters by their moving averages for evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

import torch

from ..._c.errors import ArgumentError
from .step_options import Options


class AveragedWeights:
    """Optimizer mixin: `averaged()` swaps in the exponential moving averages kept by `ema_decay`."""

    _options: Options
    state: Any  # torch.optim.Optimizer.state
    # Not empty inside averaged(). A list, because Lightning's wrappers share the attributes of an optimizer.
    _averaging: list[None]

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """Replaces the weights by their moving averages inside a `with` block, and restores them on exit.

        Example:

            with optimizer.averaged():
                evaluate(model)
        """
        if self._options.ema_decay == 0:
            raise ArgumentError(
                f"{type(self).__name__}.averaged() needs ema_decay\n  fix: pass ema_decay=0.999 to the optimizer"
            )
        averages = [(param, state["ema"]) for param, state in self.state.items() if "ema" in state]
        trained = [param.detach().clone() for param, _ in averages]
        averaging = self._averaging
        averaging.append(None)
        try:
            with torch.no_grad():
                for param, average in averages:
                    param.copy_(average)
            yield
        finally:
            averaging.pop()
            with torch.no_grad():
                for (param, _), weights in zip(averages, trained):
                    param.copy_(weights)

    def _reject_step(self) -> NoReturn:
        raise ArgumentError(
            f"{type(self).__name__}.step() was called inside averaged(); the update would be lost\n"
            "  fix: call step() after the `with optimizer.averaged():` block"
        )
