"""Divides a training loop into steps, and the steps into the doctor's phases.

A step begins when the loop requests a batch after an optimizer step. If the loader is unknown, a
step begins when the optimizer step ends. The phases are: warm-up, measure, profile (lines are
sampled), the recorders' phases, cached (the loop gets cached batches), layers (every module is
measured) and done. All methods run in the loop's thread.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..._process.code_origin import is_own_file, user_files, user_line
from ..._process.ranks import rank_and_world
from .clocks.gpu_clock import gpu_seconds, make_event_recorder, synchronize
from .clocks.step_ledger import StepLedger
from .layers.profile import LayerProfile
from .loaders.cached_batches import MOST, CachedBatches, batch_structure
from .loaders.feeding import Feeding, loader_or_iterator
from .loaders.loader_facts import loader_length, prefetched, wait_until_filled
from .median import median
from .observations import Observations
from .profiles.gpu_profile import GpuProfile
from .profiles.line_samples import LineSampler
from .proof.proof import Proof
from .recorders import make_recorders
from .settings import Settings
from .watched_step import WatchedStep

RECORDED_PHASES = ("timeline", "functions", "memory")  # only if requested; see recorders.py
MOST_OF_PROOF = 8  # batches that the runs of a proof repeat
PHASES = ("warm-up", "measure", "profile", *RECORDED_PHASES, "cached", "layers", "done")


class Watch:
    """Watches the training loop of this process. Calls `on_phase` when another phase begins."""

    EPOCH_ENDS = object()  # returned instead of a cached batch at the end of an epoch

    def __init__(self, settings: Settings, on_phase: Callable[[Watch], None]) -> None:
        self.settings, self._on_phase = settings, on_phase
        self.ledger = StepLedger()
        self.thread: int | None = None  # thread of the loop; None until it is known
        self.optimizer_steps = 0  # optimizer steps of the loop, until everything is measured
        self.files: list[str] = []  # the user's files on the loop's stack, innermost first
        self.phase = "warm-up"
        self.steps: list[WatchedStep] = []
        self.proof = Proof(settings)
        self.cached_batches = CachedBatches(MOST_OF_PROOF if self.proof.wanted else MOST)
        self.lines = LineSampler()
        self.observed = Observations()
        self.gpu_profile = GpuProfile()
        self.recorders = make_recorders(settings)
        self._batch: Any = None  # last batch of this step; only set in phases with a recorder
        self.layers = LayerProfile()
        self.feeding = Feeding()
        self.module_calls = 0
        self.rank, self.world = rank_and_world()
        self.began = time.perf_counter()
        self.warm_up = settings.warm_up
        self.failed = ""  # the error that ended the Watch
        self._phase_began = self.began
        self._in_phase = 0  # steps of this phase that count in the figures
        self._all_in_phase = 0  # all steps of this phase
        self._only_boundaries = False  # whether boundaries count, as there are no other steps
        self._nexts = self._nexts_since_step = self._optimizer_steps = 0
        self._fed, self._other_data_s = 0, 0.0  # see WatchedStep
        self._waited_s = 0.0  # waiting for data in this step, until the last batch
        self._boundary = True  # the first step includes everything before it
        self._optimizer: Any = None
        self._cpu_since = time.process_time()
        self._structure: Any = None  # structure of the loader's last batch, once batches are cached
        self._got_cached_batch = False  # whether this step used a cached batch

    def is_loop(self) -> bool:
        return self.thread == threading.get_ident() and self.phase != "done"

    def is_in_step(self) -> bool:
        """Whether this thread runs the loop but not its loader, whose transforms may be modules."""
        return self.is_loop() and not self.ledger.is_in("data")

    @property
    def loader(self) -> Any:
        """The loader that feeds the training."""
        return self.feeding.loader

    # --- events from hooks ---------------------------------------------------------------------

    def optimizer_ended(self, optimizer: Any) -> None:
        if self.thread is None:
            self.thread = threading.get_ident()
            self._optimizer = id(optimizer)
            self.optimizer_steps = 1
            self.files = user_files(sys._getframe(1))
            self.rank, self.world = rank_and_world()
            self.settings = self.settings.for_ranks(self.world)
            self.ledger = StepLedger(make_event=make_event_recorder())
            return
        self._optimizer_steps += 1
        if self.proof.active:
            self.proof.after_optimizer(optimizer)
        before = self.feeding.fed_by()
        if self.feeding.optimizer_stepped() and self.cached_batches.loader() is before:
            self.cached_batches.assign_to(self.feeding.fed_by, self._structure)
        self._fed += self.feeding.batches
        self._other_data_s += self.feeding.other_s
        if id(optimizer) != self._optimizer:
            return
        self.optimizer_steps += 1
        if not self._nexts_since_step:  # no known loader feeds this loop
            self.lines.note_loop(sys._getframe(1))
            self._close_step()
        self._nexts_since_step = 0

    def next_begins(self, iterator: Any, loader: Any) -> None:
        self.observed.batch_requested()
        if self._optimizer_steps:
            self._close_step()
        frame = sys._getframe(1)
        if self.feeding.begin(iterator, lambda: user_line(frame)):
            self._boundary = True
            self.warm_up = max(self.warm_up, self.settings.warm_up + min(40, prefetched(loader)))

    def next_ended(self, iterator: Any, loader: Any, batch: Any) -> None:
        waited_s, self._waited_s = self._waited_s, self.ledger.seconds["data"]
        self._count_batch(iterator, loader, self._waited_s - waited_s)
        self.feeding.iteration_of(iterator).taken += 1
        if self.phase in self.recorders:
            self._batch = batch
        if self.phase in ("warm-up", "measure"):
            self.observed.batch(batch)
        if len(self.cached_batches):
            self._structure = batch_structure(batch)
        if self.phase == "measure" and self.settings.cached_batches:
            self._cache_batch(iterator, loader, batch)

    def _cache_batch(self, iterator: Any, loader: Any, batch: Any) -> None:
        if self.feeding.feeds(iterator, loader):
            self.ledger.enter("own")
            self.cached_batches.keep(batch, self.feeding.fed_by)
            self.ledger.leave()

    def iteration_ended(self, iterator: Any) -> None:
        self._boundary = True
        self.feeding.forget(iterator)

    def gives_cached_batch(self, iterator: Any, loader: Any) -> bool:
        """Returns whether the next batch of this loader must be replaced by a cached batch."""
        if self.proof.active:
            return self.proof.has_batches and self.feeding.feeds(iterator, loader)
        if self.phase not in ("cached", "layers") or not len(self.cached_batches):
            return False
        return self.cached_batches.loader() is loader_or_iterator(iterator, loader)

    def cached_batch(self, iterator: Any, loader: Any) -> Any:
        """Returns a cached batch, or EPOCH_ENDS where the loader's epoch would end.

        Epochs do not end during a proof, so that the script runs no validation between its steps.
        """
        if self.proof.active:
            return self._proof_batch(iterator, loader)
        length, iteration = loader_length(iterator, loader), self.feeding.iteration_of(iterator)
        if length is not None and iteration.taken + iteration.served >= length:
            self.iteration_ended(iterator)
            return self.EPOCH_ENDS
        self.ledger.enter("own")
        batch = self.cached_batches.next_copy()
        self.ledger.leave()
        iteration.served += 1
        self._got_cached_batch = True
        self._count_batch(iterator, loader, None)
        return batch

    def _proof_batch(self, iterator: Any, loader: Any) -> Any:
        self.ledger.enter("own")
        batch = self.proof.next_batch(iterator, _batches_ahead(sys._getframe(1)))
        self.ledger.leave()
        self._got_cached_batch = True
        self._count_batch(iterator, loader, None)
        return batch

    def _count_batch(self, iterator: Any, loader: Any, waited_s: float | None) -> None:
        self._nexts += 1
        self._nexts_since_step += 1
        self.feeding.batch_returned(iterator, loader, waited_s)

    # --- phases --------------------------------------------------------------------------------

    def _close_step(self) -> None:
        if self.ledger.make_event is None and len(self.steps) < 3:
            self.ledger.make_event = make_event_recorder()
        counts_by_part = self.ledger.counts
        seconds, marks = self.ledger.close_step()
        boundary = self._boundary and not self._only_boundaries
        proving = self.proof.active
        phase = "settling" if proving and self.proof.is_settling else self.phase
        unfed = self.phase == "cached" and not self._got_cached_batch and not proving
        cpu = time.process_time()
        counts = (self._nexts, self._optimizer_steps)
        step = WatchedStep(phase, seconds, *counts, boundary or unfed, cpu - self._cpu_since, marks)
        step.counts = counts_by_part
        step.fed, step.other_data_s = self._fed, self._other_data_s
        self._fed, self._other_data_s, self._waited_s = 0, 0.0, 0.0
        self._cpu_since = cpu
        self.steps.append(step)
        self._boundary = self._got_cached_batch = False
        self._nexts = self._optimizer_steps = 0
        if not boundary or self.phase in ("warm-up", "layers"):
            self._in_phase += 1
        self._all_in_phase += 1
        if self.phase == "profile":
            self.lines.step_ended(boundary, step.wall)
        if self.phase in self.recorders:
            self.ledger.enter("own")
            batch, self._batch = self._batch, None
            self.recorders[self.phase].step_ended(batch)
            self.ledger.leave()
        if proving:
            self.ledger.enter("own")
            self.proof.step_ended()
            self.ledger.leave()
        if self.phase == "layers":
            self.ledger.enter("own")
            self.layers.step_ended()
            self.ledger.leave()
        if self._phase_is_over():
            self.ledger.enter("own")
            self._next_phase()
            self.ledger.leave()

    def _phase_is_over(self) -> bool:
        passed = time.perf_counter() - self._phase_began
        if self.phase == "warm-up":
            return self._in_phase >= self.warm_up
        if self.proof.wanted and self.phase == "cached" and not self.proof.facts.failed:
            return not self.proof.active
        if self.phase != "layers" and self.settings.is_too_long(self._all_in_phase, passed):
            return True
        if self.phase == "measure":
            return self.settings.is_enough(self._in_phase, passed)
        if self.phase == "profile":
            return self._in_phase >= self.settings.profiled or (
                passed >= self.settings.most_profiled_s
            )
        if self.phase in self.recorders:
            recorder = self.recorders[self.phase]
            late = passed >= self.settings.most_profiled_s or (recorder.failed and self.world == 1)
            return self._in_phase >= recorder.steps or bool(late)
        if self.phase == "cached":
            return self._in_phase >= self.settings.cached_batches
        if self.phase == "layers":
            failed = bool(self.layers.missing_reason) and self.world <= 1
            return failed or self._in_phase > self.settings.layers
        return False

    def _next_phase(self) -> None:
        self._resolve_gpu()
        self._stop_profile()
        self._stop_recorder()
        self.layers.stop()
        if self.phase == "warm-up":
            seen = [step.boundary for step in self.steps[1:]]  # the first step is always a boundary
            self._only_boundaries = len(seen) > 1 and all(seen)
        self.phase = self._following_phase()
        self.observed.observes_parameters = self.phase == "profile"
        if self.phase == "profile":
            assert self.thread is not None
            self.lines.start(self.thread, lambda: self.ledger.part)
            self.gpu_profile.start()
        elif self.phase == "cached":
            if self.proof.wanted:
                self._begin_proof()
            elif not len(self.cached_batches):
                self.phase = "layers"
            else:
                wait_until_filled(self.feeding.iterator())
        if self.phase == "layers" and not self._start_layers():
            self.phase = "done"
        if self.phase == "done":
            self.cached_batches.clear()
        self._in_phase = self._all_in_phase = 0
        self._phase_began = time.perf_counter()
        self._on_phase(self)
        if self.phase in self.recorders:  # last, because recording begins here
            self.recorders[self.phase].start(self)

    def _begin_proof(self) -> None:
        if len(self.cached_batches):
            wait_until_filled(self.feeding.iterator())
        about = (self.cached_batches.batches(), self._seconds_without_data(), self.feeding.iterator)
        try:
            self.proof.begin(self.observed.live_roots(), *about)
        except Exception as error:
            self.proof.facts.failed = f"{type(error).__name__}: {error}"
            self.proof.active = False
            self.phase = "layers"

    def _seconds_without_data(self) -> float:
        rest = [step.wall - step.seconds["data"] for step in self.steps if step.phase == "measure"]
        return median(rest) if rest else 1.0

    def _following_phase(self) -> str:
        later = PHASES[PHASES.index(self.phase) + 1 :]
        return next(
            phase for phase in later if phase not in RECORDED_PHASES or phase in self.recorders
        )

    def _stop_recorder(self) -> None:
        self._batch = None
        if self.phase in self.recorders:
            self.recorders[self.phase].stop(self.ledger)

    def _start_layers(self) -> bool:
        if not self.settings.layers:
            return False
        assert self.thread is not None
        measured = [step for step in self.steps if step.phase == "measure"] or self.steps[-1:]
        host_s = [step.seconds["forward"] + step.seconds["backward"] for step in measured]
        usual_s = median(host_s) if host_s else 0.0
        model = self.observed.largest_root()
        started = self.layers.start(model, self.thread, usual_s, self.is_in_step)
        # All ranks must end after the same step, even if layers cannot be measured on one rank.
        return started or self.world > 1

    def _stop_profile(self) -> None:
        self.lines.stop()
        profiled = [step for step in self.steps if step.phase == "profile"]
        own = sum(step.seconds["own"] for step in profiled)
        self.gpu_profile.stop(len(profiled), sum(step.wall for step in profiled) - own)

    def _resolve_gpu(self) -> None:
        if self.ledger.make_event is None:
            return
        synchronize()
        for step in self.steps:
            if len(step.marks) > 1:
                step.gpu = gpu_seconds(step.marks)
            step.marks = []

    def optimizer_begins(self, optimizer: Any, has_closure: bool = False) -> None:
        """Called before each step of an optimizer of the loop."""
        self.proof.objects.optimizer_stepped(optimizer)
        if self.proof.active:
            self.proof.before_optimizer(optimizer, has_closure)

    def backward_called(self, tensors: Any) -> None:
        self.observed.backward_called()
        if self.proof.active:
            self.proof.backward_called(tensors)

    def give_up(self, error: Exception) -> None:
        """Stops measuring after an error in this class. The script continues."""
        self.failed = f"{type(error).__name__}: {error}"
        with contextlib.suppress(Exception):
            self._stop_profile()
            self._stop_recorder()
        with contextlib.suppress(Exception):
            self.layers.stop(complete=False)
        self.phase = "done"
        self.cached_batches.clear()

    def end(self) -> None:
        """Stops measuring at the end of the script or of the measured block."""
        self._stop_profile()
        self._stop_recorder()
        self.layers.stop(complete=False)
        if self.phase != "done":
            self._resolve_gpu()
        self.cached_batches.clear()


def _batches_ahead(frame: FrameType | None) -> int:
    """Returns how many batches the caller of a loader holds when it asks for the next one.

    Accelerate's loaders, which Hugging Face's Trainer uses, fetch one batch ahead.
    """
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    name = "" if frame is None else frame.f_globals.get("__name__", "")
    return int(name == "accelerate.data_loader")
