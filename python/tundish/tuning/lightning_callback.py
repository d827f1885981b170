"""Lightning callback that applies a tuning plan: `Trainer(callbacks=[TunePlan("plan.json")])`."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

from .._c.errors import ArgumentError
from .framework_plan import FrameworkPlan
from .plan import Plan, load_plan

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")  # the same code, published under two names
_PRECISIONS = {"bf16": "bf16-mixed", "fp16": "16-mixed"}


class _WithoutLightning:
    """Base class used if Lightning is not installed. Raises an error that explains how to install it."""

    def __init__(self) -> None:
        name = type(self).__name__
        raise ArgumentError(f"{name} is a callback of Lightning\n  fix: pip install lightning")


def callback_base() -> Any:
    """Returns the `Callback` class of the Lightning package that the script has imported.

    If the script has imported neither package, tries `lightning.pytorch` first.
    """
    for package in sorted(_PACKAGES, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(package).Callback
        except ModuleNotFoundError:
            continue
    return _WithoutLightning


class TunePlan(callback_base()):  # type: ignore[misc]
    """Lightning callback that applies a plan saved by `tundish.tune`.

        Trainer(callbacks=[TunePlan("plan.json")])

    Sets torch flags, memory layout, precision, compilation and optimizer kernels while `fit` runs.
    `applied` and `left_out` list the tricks. A warning names the tricks that are left out.

    The callback cannot capture the whole step as a CUDA graph; that needs `step = plan.apply(...)`.
    It cannot set gradient accumulation either: pass `Trainer(accumulate_grad_batches=N)` and divide
    the batch size by N.
    """

    def __init__(self, plan: Plan | str | os.PathLike[str]) -> None:
        super().__init__()
        self.plan = plan if isinstance(plan, Plan) else load_plan(plan)
        self._settings = FrameworkPlan(self.plan)
        self._more_left_out: list[str] = []
        self._more_applied: list[str] = []
        self._precision_before: Any = None

    @property
    def applied(self) -> list[str]:
        return self._settings.applied + self._more_applied

    @property
    def left_out(self) -> list[str]:
        return self._settings.left_out + self._more_left_out

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Sets the precision, before the Trainer sets up its strategy."""
        if stage != "fit":
            return
        self._more_applied, self._more_left_out = [], []
        wanted = _PRECISIONS.get(self._settings.precision)
        if wanted is not None:
            self._set_precision(trainer, wanted)
        parts = self._settings.accumulate
        if parts > 1 and trainer.accumulate_grad_batches != parts:
            self._more_left_out.append(
                f"gradient accumulation: use Trainer(accumulate_grad_batches={parts}) with batches of "
                f"1/{parts} of the size"
            )

    def _set_precision(self, trainer: Any, wanted: str) -> None:
        strategy = trainer.strategy
        now = str(strategy.precision_plugin.precision)
        if now == wanted:
            return
        if now != "32-true":
            self._more_left_out.append(f"{wanted}: the Trainer was made with precision={now!r}")
            return
        package = type(trainer).__module__.partition(".trainer")[0]
        plugins = importlib.import_module(f"{package}.plugins.precision")
        self._precision_before = strategy.precision_plugin
        device = strategy.root_device.type
        strategy.precision_plugin = plugins.MixedPrecision(wanted, device)
        self._more_applied.append(wanted)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Applies the other tricks. The model is on its device and the checkpoint is loaded by now."""
        if len(trainer.optimizers) == 1:
            self._settings.apply(pl_module, trainer.optimizers[0])
        else:
            count = len(trainer.optimizers)
            self._more_left_out.append(f"everything else: the module has {count} optimizers")
        if self.left_out:
            warnings.warn(
                f"TunePlan leaves out {'; '.join(self.left_out)}", RuntimeWarning, stacklevel=2
            )

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._restore(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._restore(trainer)

    def _restore(self, trainer: Any) -> None:
        applied, left_out = self.applied, self.left_out
        self._settings.undo()
        if self._precision_before is not None:
            trainer.strategy.precision_plugin = self._precision_before
            self._precision_before = None
        self._more_applied, self._more_left_out = (
            applied,
            left_out,
        )  # kept for reading after the run
