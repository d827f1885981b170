"""`tundish.doctor` as a Lightning callback: `Trainer(callbacks=[DoctorCallback()])`."""

from __future__ import annotations

import os
import sys
from typing import Any

from .._c.errors import ArgumentError
from ..tuning.lightning_callback import callback_base
from .context import doctor
from .verdict.verdict import Verdict


class DoctorCallback(callback_base()):  # type: ignore[misc]
    """Lightning callback that finds out what slows down the training, and prints it after `fit()`.

        Trainer(callbacks=[DoctorCallback()]).fit(model)

    The verdict is printed to stderr.

    stop   end the training once everything is measured; if False, the training continues normally
    quiet  do not print the verdict

    All other arguments have the same meaning as in `tundish.doctor`.
    """

    def __init__(
        self,
        *,
        steps: int = 0,
        cached_batches: bool = True,
        layers: bool = True,
        stop: bool = False,
        quiet: bool = False,
        timeline: str | os.PathLike[str] | None = None,
        table: str = "",
        memory_lines: bool = False,
    ) -> None:
        super().__init__()
        more: dict[str, Any] = {"timeline": timeline, "table": table, "memory_lines": memory_lines}
        self._doctor = doctor(steps=steps, cached_batches=cached_batches, layers=layers, **more)
        self._stop, self._quiet = stop, quiet
        self._watching = False
        self._verdict: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the steps so far; after `fit()`, the final verdict."""
        if self._verdict is None and not self._watching:
            raise ArgumentError("no verdict before fit()\n  fix: call trainer.fit(model) first")
        return self._doctor.verdict if self._verdict is None else self._verdict

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self._verdict = None
        self._doctor.__enter__()
        self._watching = True

    def on_train_batch_end(self, trainer: Any, *ignored: Any) -> None:
        if self._stop and self._doctor.is_done:
            trainer.should_stop = True

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end()

    def _end(self) -> None:
        if not self._watching:
            return
        self._watching = False
        self._doctor.__exit__(None, None, None)
        self._verdict = self._doctor.verdict
        if not self._quiet:
            print(self._verdict, file=sys.stderr, flush=True)
