"""Hooks in torch and Tundish that report the loop's activity to a Watch.

install() replaces functions on their classes, and uninstall() restores them. Each replacement calls
the original function with the same arguments. Only calls in the loop's thread are measured. An
error in the Watch ends the Watch, never the script.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .applied.loader_change import Applied
from .applied.plan_change import AppliedPlan
from .clocks.blocked_clock import BlockedClock
from .equal_method import EqualMethod
from .hidden_frames import hidden
from .imports import AfterImport
from .loaders.loader_origin import loader_origin
from .loaders.worker_spans import WorkerSpans
from .settings import Settings
from .watch import Watch

# Functions of torch.distributed that wait for other ranks.
_COLLECTIVES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all"),
    *("barrier", "broadcast", "broadcast_object_list", "gather", "monitored_barrier", "reduce"),
    *("reduce_scatter", "reduce_scatter_tensor", "scatter"),
)


def _is_own(function: Any) -> bool:
    """Returns whether a function belongs to the probe, such as the hooks of the layers' tracker."""
    module = str(getattr(function, "__globals__", {}).get("__name__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]


class Hooks:
    """Installs and removes the hooks.

    `finish` is called once when everything is measured, and may raise SystemExit. `failed` is called
    with the first error of the Watch.
    """

    def __init__(
        self,
        watch: Watch,
        finish: Callable[[], None],
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        self._watch, self._finish = watch, finish
        self._failed = failed or watch.give_up
        self._undo: list[Callable[[], None]] = []
        self._depth = threading.local()
        self._stepping: list[int] = []  # ids of the loop's optimizers whose step is running
        self.applied, self._plan = _changes_to_try(watch.settings)
        self._imports = AfterImport(
            {
                "torch": lambda: self._report(self._hook_torch),
                "torch.utils.data.dataloader": lambda: self._report(self._hook_dataloader),
                "tundish.data.loader_run": lambda: self._report(self._hook_tundish),
            }
        )

    def install(self) -> None:
        self._imports.install()

    def uninstall(self) -> None:
        self._imports.uninstall()
        while self._undo:
            self._undo.pop()()

    def _report(self, function: Callable[..., Any], *words: Any) -> Any:
        """Calls a function of the Watch. If it fails, returns None, and the script continues unwatched."""
        try:
            return function(*words)
        except Exception as error:
            if not self._watch.failed:
                self._failed(error)
            return None

    def _enter(self, part: str) -> None:
        self._report(self._watch.ledger.enter, part)

    def _leave(self) -> None:
        self._report(self._watch.ledger.leave)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        own = name in vars(owner)
        replacement = hidden(make(original))
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            value = original if attribute == "__wrapped__" else getattr(original, attribute, None)
            setattr(replacement, attribute, value)
        setattr(owner, name, replacement)

        def undo() -> None:
            now = vars(owner).get(name)
            if now is not replacement and not _is_own(now):
                return  # the script has replaced our function since, with one that calls ours
            if own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)

        self._undo.append(undo)

    # --- the step ------------------------------------------------------------------------------

    def _hook_torch(self) -> None:
        torch = sys.modules["torch"]
        optimizers = sys.modules["torch.optim.optimizer"]
        before = optimizers.register_optimizer_step_pre_hook(
            lambda *words: self._report(self._optimizer_begins, *words)
        )
        after = optimizers.register_optimizer_step_post_hook(
            lambda *words: self._report(self._optimizer_ends, *words)
        )
        self._undo += [before.remove, after.remove]
        self._replace(torch.optim.Optimizer, "zero_grad", self._part("zero_grad"))
        self._replace(torch.autograd, "backward", self._backward)
        if self._watch.proof.wanted:
            self._hook_schedulers()
        for name in _COLLECTIVES:
            if hasattr(torch.distributed, name):
                self._replace(torch.distributed, name, self._part("communication"))
        self._replace(torch.nn.Module, "__call__", self._module_call)
        # torch.cuda.is_available() would start CUDA before the script has chosen a GPU or forked.
        if torch.version.cuda or torch.version.hip:
            for name in ("to", "cuda"):
                self._replace(torch.Tensor, name, self._copy)

    def _hook_schedulers(self) -> None:
        """Stops schedulers during a proof, which has its own learning rates and more steps."""
        module, proof = sys.modules["torch.optim.lr_scheduler"], self._watch.proof

        def make(original: Any) -> Any:
            def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
                return None if proof.active else original(scheduler, *args, **kwargs)

            return step

        for kind in list(vars(module).values()):
            if isinstance(kind, type) and "step" in vars(kind):
                self._replace(kind, "step", make)

    def _optimizer_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        watch = self._watch
        if watch.is_loop():
            if id(optimizer) in self._stepping:
                self._drop_failed_steps()
            self._stepping.append(id(optimizer))
            if watch.observed.observes_parameters:
                watch.ledger.enter("own")
                watch.observed.before_optimizer(optimizer)
                watch.ledger.leave()
            has_closure = any(callable(value) for value in (*args[1:], *kwargs.values()))
            self._report(watch.optimizer_begins, optimizer, has_closure)
            watch.ledger.enter("optimizer")

    def _drop_failed_steps(self) -> None:
        """Discards optimizers whose step() raised an exception, after which torch calls no post hook."""
        self._stepping.clear()
        self._watch.ledger.drop("optimizer")

    def _optimizer_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        watch = self._watch
        if watch.phase == "done":
            return
        if watch.is_loop() and self._stepping:
            self._stepping.pop()
        if watch.is_loop() and watch.ledger.is_in("optimizer"):
            watch.ledger.leave()
        if watch.thread in (None, threading.get_ident()):
            if self._plan is not None:
                self._plan.optimizer_ended(watch.observed.largest_root(), optimizer)
            watch.optimizer_ended(optimizer)
            self._finish_if_done()

    def _part(self, part: str) -> Callable[[Any], Any]:
        watch = self._watch

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                if _is_compiling() or not watch.is_loop():
                    return original(*args, **kwargs)
                self._enter(part)
                try:
                    return original(*args, **kwargs)
                finally:
                    self._leave()

            return call

        return make

    def _backward(self, original: Any) -> Any:
        """Measures how long backward() is blocked, if several ranks train on CPUs.

        Ranks average their gradients inside backward(), so blocked time is a wait for other ranks.
        """
        plain, watch = hidden(self._part("backward")(original)), self._watch

        def call(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return original(*args, **kwargs)
            if watch.is_loop():
                self._report(watch.backward_called, args[0] if args else kwargs.get("tensors"))
            if watch.world <= 1 or watch.ledger.make_event is not None or not watch.is_loop():
                return plain(*args, **kwargs)
            clock = BlockedClock()
            before = clock.now()[1]
            try:
                return plain(*args, **kwargs)
            finally:
                blocked = clock.now()[1] - before
                clock.close()
                waited = max(0.0, blocked)
                self._report(watch.ledger.move, "backward", "communication", waited)

        return call

    def _module_call(self, original: Any) -> Any:
        """Measures the outermost calls of models and losses. For calls of inner modules, only checks this."""
        watch, depth, observed = self._watch, self._depth, self._watch.observed
        is_grad_enabled, report = sys.modules["torch"].is_grad_enabled, self._report
        is_compiling = sys.modules["torch"].compiler.is_compiling
        depth.inside = False

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():  # torch.compile(model) compiles this function with the model
                return original(self, *args, **kwargs)
            watch.module_calls += 1
            if observed.observes_parameters:
                observed.called.add(id(self))
            if getattr(depth, "inside", False) or not watch.is_in_step():
                return original(self, *args, **kwargs)
            depth.inside = True
            report(observed.root_called, self, is_grad_enabled(), sys._getframe(1))
            report(watch.ledger.enter, "forward")
            try:
                return original(self, *args, **kwargs)
            finally:
                report(watch.ledger.leave)
                depth.inside = False

        return call

    def _copy(self, original: Any) -> EqualMethod:
        """Measures to() and cuda() calls on CPU tensors during a step, once CUDA is initialized."""
        watch, cuda = self._watch, sys.modules["torch"].cuda

        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return original(tensor, *args, **kwargs)
            if tensor.is_cuda or not cuda.is_initialized() or not watch.is_in_step():
                return original(tensor, *args, **kwargs)
            self._enter("copy")
            try:
                return original(tensor, *args, **kwargs)
            finally:
                self._leave()

        return EqualMethod(original, call)

    # --- loaders -------------------------------------------------------------------------------

    def _hook_dataloader(self) -> None:
        module = sys.modules["torch.utils.data.dataloader"]

        def wrap_init(original: Any) -> Any:
            def init(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
                self._report(_remember, iterator, loader)
                original(iterator, loader, *args, **kwargs)

            return init

        def wrap_reset(original: Any) -> Any:
            def reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
                self._report(self._watch.feeding.forget, iterator)
                return original(iterator, *args, **kwargs)

            return reset

        self._replace(module._BaseDataLoaderIter, "__init__", wrap_init)
        self._replace(module._BaseDataLoaderIter, "_reset", wrap_reset)  # persistent workers
        self._replace(module.DataLoader, "__iter__", _with_origin)
        if isinstance(self.applied, Applied):
            self._replace(module.DataLoader, "__iter__", self.applied.iterate)
        self._replace(module._BaseDataLoaderIter, "__next__", self._next(_iterator_loader))
        if self._watch.settings.timeline:
            WorkerSpans(self._watch.settings.timeline_folder).hook(self._replace)

    def _hook_tundish(self) -> None:
        kind = sys.modules["tundish.data.loader_run"].LoaderIterator
        self._replace(kind, "__next__", self._next(lambda iterator: iterator._loader))

    def _next(self, loader_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
        watch = self._watch

        def make(original: Any) -> Any:
            def call(iterator: Any) -> Any:
                if not watch.is_loop() or watch.ledger.is_in("data"):
                    return self._next_unwatched(iterator, original)
                loader = self._report(self._next_begins, iterator, loader_of)
                self._finish_if_done()
                if self._report(watch.gives_cached_batch, iterator, loader):
                    batch = self._report(watch.cached_batch, iterator, loader)
                    if batch is watch.EPOCH_ENDS:
                        raise StopIteration
                    if not watch.failed:
                        return batch
                if watch.phase == "done":
                    return self._next_unwatched(iterator, original)
                self._enter("data")
                try:
                    batch = original(iterator)
                except StopIteration:
                    self._report(watch.iteration_ended, iterator)
                    raise
                finally:
                    self._leave()
                self._report(watch.next_ended, iterator, loader, batch)
                return batch

            return call

        return make

    def _next_begins(self, iterator: Any, loader_of: Callable[[Any], Any]) -> Any:
        """Returns the loader of the iterator."""
        if self._stepping:
            self._drop_failed_steps()
        loader = loader_of(iterator)
        self._watch.next_begins(iterator, loader)
        return loader

    @hidden
    def _next_unwatched(self, iterator: Any, original: Any) -> Any:
        watch = self._watch
        if watch.phase == "done":
            # Skip batches that cached batches have replaced, so that epochs keep their length.
            for _ in range(self._report(watch.feeding.pop_served_count, iterator) or 0):
                original(iterator)
        batch = original(iterator)
        if watch.thread is None:
            self._report(watch.feeding.note_taken_early, iterator)
        return batch

    def _finish_if_done(self) -> None:
        if self._watch.phase == "done" and not self._watch.failed:
            self._report(self._finish)


def _changes_to_try(settings: Settings) -> tuple[Applied | AppliedPlan | None, AppliedPlan | None]:
    """Returns (the change that --apply requests, the same change if it is a plan). Either may be None."""
    name, _, value = settings.apply.partition("=")
    if name == "plan":
        plan = AppliedPlan(value)
        return plan, plan
    if not name:
        return None, None
    return Applied(settings.apply, settings.apply_to, settings.apply_at), None


def _with_origin(original: Any) -> Any:
    """Wraps DataLoader.__iter__ to store the loader's origin on the iterator.

    A persistent iterator has the origin of its latest epoch.
    """

    def iterate(loader: Any) -> Any:
        iterator = original(loader)
        # The script's own DataLoader class may return a generator, which cannot have attributes.
        with contextlib.suppress(Exception):
            iterator._tundish_origin = loader_origin(loader, sys._getframe(1))
        return iterator

    return iterate


def _remember(iterator: Any, loader: Any) -> None:
    """Stores the loader on its iterator. The reference is weak if the loader itself holds the iterator."""
    keeps = getattr(loader, "persistent_workers", False)
    iterator._tundish_loader = weakref.ref(loader) if keeps else lambda: loader


def _iterator_loader(iterator: Any) -> Any:
    found = getattr(iterator, "_tundish_loader", None)
    return None if found is None else found()


def _is_compiling() -> bool:
    return bool(sys.modules["torch"].compiler.is_compiling())
