"""Runs the compared steps: loads the start, feeds batches, records losses and gradients."""

from __future__ import annotations

import gc
import math
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..loaders.batch_copy import copy_batch
from ..settings import Settings
from . import gradient_errors, saved_state
from .gradient_errors import Tensors
from .proof_facts import GradientFacts, ProofFacts, RunFacts
from .saved_state import TrainingObjects

SEED = 1_234_567
OTHER_RANDOM_NUMBERS = 1_000  # added to the seeds of the run with other random numbers


_NEEDED = ("plain", "nudged", "nudged", "nudged")  # runs of a slow script
FEWEST_STEPS, MOST_STEPS = 6, 30  # steps of a run


class Proof:
    """Settings.proof is the folder in which the start is written, or read to be compared with."""

    def __init__(self, settings: Settings) -> None:
        self._folder, self._compares = settings.proof, bool(settings.proof_compares)
        self._kinds = settings.proof_runs.split(",")
        self._seconds = settings.proof_s  # for all runs together
        self.wanted = bool(settings.proof)
        self.steps = FEWEST_STEPS
        self.objects = TrainingObjects()
        self.facts = ProofFacts()
        self.active = False
        self._start: dict[str, Any] = {}
        self._batches: list[Any] = []
        self._models: list[Any] = []
        self._step = 0
        self._losses: list[list[Any]] = []
        self._reference: Tensors = {}  # gradients of the first step of the first run
        self._reference_update: Tensors = {}
        self._gradients: Tensors = {}
        self._before: Tensors = {}
        self._after: Tensors = {}
        self._options: list[list[dict[str, Any]]] = []  # of the optimizers' groups at the start
        self._scalers: list[Any] = []
        self._fed = 0  # batches in this run
        self._fed_in_step = 0
        self.is_settling = False  # a step before a run uses batches that the loop fetched before
        self._iterator: Callable[[], Any] | None = None  # weak: the iterator of the latest batch

    # --- runs ----------------------------------------------------------------------------------

    def begin(
        self,
        roots: list[Any],
        batches: list[Any],
        step_s: float,
        iterator: Callable[[], Any] | None = None,
    ) -> None:
        """Saves or loads the start, and begins the first run. Raises what loading raises.

        `step_s`: seconds of a step without loading. `iterator`: weak, of the latest batch.
        """
        self._iterator = iterator
        self._models = self.objects.trained(roots)
        if self._compares:
            saved = saved_state.load(self._folder)
            self._start, self._batches = saved["start"], saved["batches"]
            self._reference, self._reference_update = saved["gradients"], saved["update"]
            self._options, self.steps = saved["options"], saved["steps"]
        else:
            self._batches = batches
            affordable = self._seconds / max(step_s, 1e-6)
            if affordable < FEWEST_STEPS * len(self._kinds):
                self._kinds = [kind for kind in _NEEDED if kind in self._kinds]
            self.steps = int(min(MOST_STEPS, max(FEWEST_STEPS, affordable / len(self._kinds))))
            optimizers = self.objects.optimizers()
            self._start = saved_state.take_state(self._models, optimizers)
            self._options = [_options(optimizer) for optimizer in optimizers]
        self.facts.fed = bool(self._batches)
        self._scalers = _grad_scalers()
        saved_state.load_state(self._start, self._models, self.objects.optimizers())
        self._begin_settling()

    def _begin_settling(self) -> None:
        """Lets the loop use the batches that it has fetched ahead, so that runs use equal batches."""
        self.active = self.is_settling = True
        self._fed, self._step, self._losses = 0, 0, [[]]

    def _begin_run(self) -> None:
        self.is_settling = False
        self._losses = [[]]
        self._gradients, self._before, self._after = {}, {}, {}
        optimizers = self.objects.optimizers()
        saved_state.load_state(self._start, self._models, optimizers)
        for optimizer in optimizers:  # gradients of the step before
            optimizer.zero_grad(set_to_none=True)
        if self._kind == "nudged":
            saved_state.nudge(self._models, len(self.facts.runs))
        self._seed()

    @property
    def _kind(self) -> str:
        return self._kinds[len(self.facts.runs)]

    def _seed(self) -> None:
        self._fed_in_step = 0
        other = OTHER_RANDOM_NUMBERS if self._kind == "random" else 0
        saved_state.seed_all(SEED + other + self._step)

    def next_batch(self, iterator: Any = None, ahead: int = 0) -> Any:
        """Returns a copy of the next batch of this run.

        ahead  batches that the loop drops when it makes another iterator for a new epoch
        """
        if self._iterator is not None and self._iterator() is not iterator:
            self._fed -= ahead  # -1 in the settling step: the last of the batches
        self._iterator = None if iterator is None else weakref.ref(iterator)
        if not self._fed_in_step:  # again: a new iterator and a validation draw random numbers
            self._seed()
        batch = self._batches[self._fed % len(self._batches)]
        self._fed += 1
        self._fed_in_step += 1
        return copy_batch(batch)

    @property
    def has_batches(self) -> bool:
        return bool(self._batches)

    def step_ended(self) -> None:
        """Ends a step, and after the last step of a run begins the next run."""
        if self.is_settling:
            self._begin_run()
            return
        self._step += 1
        if self._step < self.steps:
            self._losses.append([])
            self._seed()
            return
        self._end_run()
        if len(self.facts.runs) < len(self._kinds):
            self._begin_settling()
        else:
            self.active = False

    def _end_run(self) -> None:
        losses = [[_number(loss) for loss in step] for step in self._losses]
        kind, gradients = self._kind, None
        if not self.facts.runs and not self._compares:
            self._reference = self._gradients
            self._reference_update = gradient_errors.updates(self._before, self._after)
            values: dict[str, Any] = {
                "start": self._start,
                "batches": self._batches,
                "options": self._options,
            }
            values |= {
                "steps": self.steps,
                "gradients": self._reference,
                "update": self._reference_update,
            }
            saved_state.save(self._folder, values)
        else:
            gradients = self._compared()
        self.facts.runs.append(RunFacts(kind, losses, gradients))

    def _compared(self) -> GradientFacts:
        found = gradient_errors.compare(self._gradients, self._reference)
        names = gradient_errors.significant(self._reference)
        ratio, cosine = gradient_errors.alignment_of_updates(
            self._before, self._after, {name: self._reference_update[name] for name in names}
        )
        return GradientFacts(
            found.errors, found.norm_ratio, found.cosine, found.missing, ratio, cosine
        )

    # --- events --------------------------------------------------------------------------------

    def backward_called(self, tensors: Any) -> None:
        """Records the loss. A GradScaler's factor is divided out."""
        torch = sys.modules["torch"]
        losses = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        for loss in losses:
            if isinstance(loss, torch.Tensor):
                self._losses[-1].append(loss.detach().float().sum() / self._loss_scale())

    def _loss_scale(self) -> Any:
        scales = [scaler._scale for scaler in self._scalers if scaler._scale is not None]
        return scales[0].to("cpu") if scales else 1.0

    def before_optimizer(self, optimizer: Any, has_closure: bool = False) -> None:
        """Uses the learning rates of the start, and copies the gradients of the first step.

        has_closure  the gradients are computed inside the step, as in Lightning: copied after it
        """
        number = self._number_of(optimizer)
        if number < len(self._options):
            for group, options in zip(optimizer.param_groups, self._options[number]):
                group.update(options)
        if self.is_settling or self._step or f"{number}.0.0" in self._before:
            return
        self._before |= gradient_errors.weights_of(optimizer, number)
        if not has_closure:
            self._gradients |= gradient_errors.gradients_of(optimizer, number)

    def after_optimizer(self, optimizer: Any) -> None:
        number = self._number_of(optimizer)
        if self.is_settling or self._step or f"{number}.0.0" in self._after:
            return
        self._after |= gradient_errors.weights_of(optimizer, number)
        if f"{number}.0.0" not in self._gradients:
            self._gradients |= gradient_errors.gradients_of(optimizer, number)

    def _number_of(self, optimizer: Any) -> int:
        return next(n for n, one in enumerate(self.objects.optimizers()) if one is optimizer)


def _options(optimizer: Any) -> list[dict[str, Any]]:
    """Returns the numbers of each group: learning rate, momentum, weight decay, ..."""
    return [
        {key: value for key, value in group.items() if type(value) in (int, float, tuple)}
        for group in optimizer.param_groups
    ]


def _grad_scalers() -> list[Any]:
    """Returns the script's GradScalers, which multiply the loss."""
    module = sys.modules.get("torch.amp.grad_scaler")
    if module is None:
        return []
    found = [one for one in gc.get_objects() if module.GradScaler in type(one).__mro__]
    return [scaler for scaler in found if scaler.is_enabled()]


def _number(loss: Any) -> float:
    value = float(loss)
    return value if math.isfinite(value) else 1e30
