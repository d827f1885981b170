"""The average of the weights in the place of the weights, for an evaluation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

import torch

from ..._c.errors import ArgumentError
from .step_options import Options


class Averaged:
    """Mixin that keeps an exponential moving average of the weights."""

    _options: Options
    state: Any  # torch's
    _is_averaged = False  # in averaged()

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """Context manager in which the parameters are their averages. It needs `ema_decay`.

        with optimizer.averaged():
            evaluate(model)
        """
        if self._options.ema_decay == 0:
            raise ArgumentError(
                f"{type(self).__name__}.averaged() needs averages\n  fix: ema_decay=0.999, say"
            )
        averages = [(p, state["ema"]) for p, state in self.state.items() if "ema" in state]
        was_averaged = self._is_averaged
        kept = [parameter.detach().clone() for parameter, _ in averages]
        try:
            with torch.no_grad():
                for parameter, average in averages:
                    parameter.copy_(average)
            self._is_averaged = True
            yield
        finally:
            self._is_averaged = was_averaged
            with torch.no_grad():
                for (parameter, _), before in zip(averages, kept):
                    parameter.copy_(before)

    def _refuse_step(self) -> NoReturn:
        raise ArgumentError(
            f"{type(self).__name__}: step() inside averaged(): its update would be lost\n"
            "  fix: leave `with optimizer.averaged():` first"
        )
