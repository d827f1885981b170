"""Changes the DataLoader that feeds the training when the script iterates it."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..._process.code_origin import user_line
from ...diagnosis.probe.hidden_frames import hidden
from .call_sites import CallSite, ConstructionSites
from .identities import loader_identity
from .request import LoaderIdentity, Request

Outcome = Callable[[str, str], None]  # name of the change, why it was not made or ""
_ENGINE = "_tundish_accelerated"  # attribute of a loader: what accelerate() returned


@dataclass(frozen=True)
class WatchedLoader:
    """A DataLoader that returned a batch. `place`: the line that iterates it."""

    identity: LoaderIdentity
    place: tuple[str, int]
    made: CallSite
    workers: int
    pins_memory: bool


class LoaderChanges:
    """Replaces DataLoader.__iter__. The loader object stays the script's.

    `note` receives the outcome of each change. Without a loader in the request, loaders are only
    watched: `latest` describes the loader of the latest batch. `sites`: where they were constructed.
    """

    def __init__(
        self, request: Request, note: Outcome, sites: ConstructionSites | None = None
    ) -> None:
        self._request, self._note, self._sites = request, note, sites
        self._busy = False
        self.report = ""  # what accelerate() says
        self.latest: WatchedLoader | None = None
        self._watched: weakref.WeakKeyDictionary[Any, WatchedLoader] = weakref.WeakKeyDictionary()
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        module = sys.modules["torch.utils.data.dataloader"]
        self._replace(module.DataLoader, "__iter__", self._wrap_iter)
        if self._request.loader is None:
            self._replace(module._BaseDataLoaderIter, "__next__", self._wrap_next)

    def uninstall(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        replacement = hidden(make(original))
        replacement.__name__, replacement.__wrapped__ = name, original
        setattr(owner, name, replacement)

        def undo() -> None:
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)

        self._undo.append(undo)

    def _wrap_iter(self, original: Any) -> Any:
        def iterate(loader: Any) -> Any:
            frame = sys._getframe(1)
            if self._busy:
                return original(loader)
            if self._request.loader is None:
                return self._watched_iterator(loader, original, frame)
            if not self._trains(loader, frame):
                return original(loader)
            return self._changed_iterator(loader, original)

        return iterate

    def _watched_iterator(self, loader: Any, original: Any, frame: FrameType | None) -> Any:
        iterator = original(loader)
        with contextlib.suppress(TypeError):  # a generator cannot be referenced weakly
            self._watched[iterator] = WatchedLoader(  # not the loader: it may be freed before
                identity=loader_identity(loader, frame),
                place=user_line(frame),
                made=self._sites.site_of(loader) if self._sites else CallSite(),
                workers=int(getattr(loader, "num_workers", 0) or 0),
                pins_memory=bool(getattr(loader, "pin_memory", False)),
            )
        return iterator

    def _wrap_next(self, original: Any) -> Any:
        def call(iterator: Any) -> Any:
            batch = original(iterator)
            self.latest = self._watched.get(iterator)
            return batch

        return call

    def _trains(self, loader: Any, frame: FrameType | None) -> bool:
        if not sys.modules["torch"].is_grad_enabled():  # a validation loop
            return False
        return loader_identity(loader, frame) == self._request.loader

    def _changed_iterator(self, loader: Any, original: Any) -> Any:
        workers = self._request.value_of("workers")
        if workers is not None:
            self._set_workers(loader, int(workers))
        if self._request.value_of("pin_memory") is not None:
            loader.pin_memory = True
            self._note("pin_memory", "")
        pack = self._request.value_of("accelerate")  # "", or the pack to use
        if pack is None:
            return original(loader)
        self._busy = True  # accelerate() may iterate the loader itself
        try:
            engine = loader.__dict__.get(_ENGINE)
            if engine is None:
                engine = self._accelerate(loader, pack)
                loader.__dict__[_ENGINE] = engine  # freed with the loader
            return iter(engine) if engine.report.native else original(loader)
        except Exception as error:
            self._note("accelerate", f"{type(error).__name__}: {error}")
            if not self._request.fallback:
                raise
            return original(loader)
        finally:
            self._busy = False

    def _accelerate(self, loader: Any, pack: str) -> Any:
        from tundish.dropin.accelerate import accelerate

        engine = accelerate(loader, pack=pack or None)
        self.report = str(engine.report)
        reasons = [f"{reason.what}; instead: {reason.instead}" for reason in engine.report.reasons]
        self._note("accelerate", "" if engine.report.native else "; ".join(reasons))
        return engine

    def _set_workers(self, loader: Any, count: int) -> None:
        loader.num_workers = count
        if count and loader.prefetch_factor is None:
            loader.prefetch_factor = 2  # torch's default
        self._note("workers", "")
