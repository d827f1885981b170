"""Finds the models that a training loop calls, and routes their calls to a BoostedModel.

`torch.nn.Module.__call__` is replaced only until all models are found. From then on, only the
classes of these models have a replaced `__call__`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...diagnosis.probe.hidden_frames import hidden
from .boosted_model import BoostedModel

Found = Callable[[Any, FrameType | None, Any], BoostedModel | None]


class ModuleCalls:
    """`found` receives outermost training calls: the module, the caller's frame and the arguments.

    After stop_search(), it receives only calls of further modules of the classes that were found,
    such as the model of the next fold. `returned` receives the outputs of calls that stay as they
    are.
    """

    def __init__(self, found: Found, returned: Callable[[Any, Any], None] | None = None) -> None:
        self._found, self._returned = found, returned
        self._boosted: dict[int, BoostedModel] = {}
        self._classes: dict[Any, Callable[[], None]] = {}  # patched class: undo
        self._inside = threading.local()
        self._inside_boosted = threading.local()
        self._undo_search: Callable[[], None] | None = None

    def install(self) -> None:
        kind = sys.modules["torch"].nn.Module
        self._undo_search = _replace_call(kind, self._search)

    def stop_search(self) -> None:
        if self._undo_search is not None:
            self._undo_search()
            self._undo_search = None

    def _pause_search(self) -> bool:
        """Restores torch's function during a call that may be compiled. Returns whether it searched.

        A compiled model depends on the function, and would be compiled again after the search.
        """
        searched = self._undo_search is not None
        self.stop_search()
        return searched

    def uninstall(self) -> None:
        self.stop_search()
        for undo in self._classes.values():
            undo()
        self._classes.clear()
        self._boosted.clear()

    def _search(self, original: Any) -> Any:
        torch = sys.modules["torch"]
        is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or getattr(self._inside, "module", False):
                return original(module, *args, **kwargs)
            boosted = None
            trains = module.training and is_grad_enabled()
            if trains and id(module) not in self._boosted:
                boosted = self._found(module, sys._getframe(1), (args, kwargs))
            self._inside.module = True
            try:
                if boosted is None:
                    out = original(module, *args, **kwargs)
                    if trains and self._returned is not None:
                        self._returned(module, out)
                    return out
                self._add(module, boosted)
                return type(module).__call__(module, *args, **kwargs)
            finally:
                self._inside.module = False

        return call

    def _add(self, module: Any, boosted: BoostedModel) -> None:
        number = id(module)
        self._boosted[number] = boosted
        weakref.finalize(module, self._boosted.pop, number, None)
        kind = type(module)
        if kind not in self._classes:
            self._classes[kind] = _replace_call(kind, self._route)

    def _route(self, original: Any) -> Any:
        torch = sys.modules["torch"]
        is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
        active = self._inside_boosted

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(module, *args, **kwargs)
            if getattr(
                active, "inside", False
            ):  # a part of a boosted model, or its own second call
                return original(module, *args, **kwargs)
            boosted = self._boosted.get(id(module))
            if boosted is None and module.training and is_grad_enabled():
                boosted = self._found(module, sys._getframe(1), (args, kwargs))
                if boosted is not None:
                    self._add(module, boosted)
            if boosted is None:
                return original(module, *args, **kwargs)
            active.inside = True
            searched = self._pause_search()
            try:
                return boosted.call(original, args, kwargs)
            finally:
                active.inside = False
                if searched:
                    self.install()

        return call


def _replace_call(kind: Any, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Replaces `__call__` of a class. Returns a function that restores it."""
    own = vars(kind).get("__call__")
    original = _inherited_call(kind) if own is None else own
    replacement = hidden(make(original))
    replacement.__name__, replacement.__qualname__ = "__call__", f"{kind.__qualname__}.__call__"
    replacement.__wrapped__ = original
    kind.__call__ = replacement

    def undo() -> None:
        if vars(kind).get("__call__") is not replacement:
            return  # the script has replaced it since, and its function calls ours
        if own is None:
            del kind.__call__
        else:
            kind.__call__ = own

    return undo


def _inherited_call(kind: Any) -> Any:
    """Returns a function that looks the base class's `__call__` up when called: it may be replaced."""
    base = kind.__mro__[1]

    @hidden
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        return base.__call__(module, *args, **kwargs)

    return call
