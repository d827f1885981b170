"""Saves and restores the states of all random generators that loading uses.

This includes generators that a dataset owns, such as `self.rng = np.random.default_rng(0)`.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ...._process.code_origin import is_user_file
from ...._process.random_state import loader_random_state

_MOST_OBJECTS = 2000
_MOST_MODULES = 200
_MOST_ITEMS = 100  # of a list, tuple or dict
_PLAIN = (str, bytes, int, float, complex, type(None), type)

Restore = Callable[[], object]


class LoadingState:
    """A snapshot of the generators, taken before samples are loaded."""

    def __init__(self, loader: Any) -> None:
        self._global = loader_random_state(loader)
        parts = (getattr(loader, name, None) for name in ("dataset", "collate_fn"))
        self._own = snapshot_generators(parts)

    def restore(self) -> None:
        self._global.restore()
        for restore in self._own:
            restore()


def snapshot_generators(roots: Iterable[Any]) -> list[Restore]:
    """Returns functions that restore the random generators found in `roots`.

    Objects in attributes, lists and closures are searched too, and the global variables of the
    modules that define their classes, with the user's modules that these import. No property or method of the objects is called.
    """
    found: dict[int, Restore] = {}
    for value in _reachable(roots):
        with contextlib.suppress(Exception):  # for example random.SystemRandom, which has no state
            restore = _restore(value)
            if restore is not None:
                found.setdefault(id(value), restore)
    return list(found.values())


def _restore(value: Any) -> Restore | None:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    state: Any
    if isinstance(value, random.Random):
        state = value.getstate()
        return lambda: value.setstate(state)
    if torch is not None and isinstance(value, torch.Generator):
        state = value.get_state()
        return lambda: value.set_state(state)
    if numpy is not None and isinstance(value, numpy.random.RandomState):
        state = value.get_state()
        return lambda: value.set_state(state)
    if numpy is not None and isinstance(value, numpy.random.Generator):
        bits = value.bit_generator
        state = bits.state
        return lambda: setattr(bits, "state", state)
    return None


def _reachable(roots: Iterable[Any]) -> Iterator[Any]:
    """Yields the roots, all values inside them, and the global variables of their modules."""
    pending, seen, modules = list(roots), set[int](), set[str]()
    while pending and len(seen) < _MOST_OBJECTS:
        value = pending.pop(0)
        if isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        pending += islice(_inside(value), _MOST_ITEMS)
        defined = value if isinstance(value, FunctionType) else type(value)
        yield from _globals(str(defined.__module__), modules)


def _globals(name: str, seen: set[str]) -> Iterator[Any]:
    """Yields the global variables of a module, and of the user's modules that it imports from."""
    pending = [name]
    while pending and len(seen) < _MOST_MODULES:
        module = sys.modules.get(pending.pop())
        if module is None or module.__name__ in seen:
            continue
        seen.add(module.__name__)
        for value in list(vars(module).values()):
            yield value
            attribute = "__name__" if isinstance(value, ModuleType) else "__module__"
            if isinstance(value, ModuleType | FunctionType | type):
                other = str(getattr(value, attribute, ""))
                file = getattr(sys.modules.get(other), "__file__", None)
                if file and is_user_file(file):
                    pending.append(other)


def _inside(value: Any) -> Iterable[Any]:
    """Returns the items, attributes or closure variables of an object."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return [cell.cell_contents for cell in cells if not _is_empty(cell)]
    try:
        return list(vars(value).values())
    except TypeError:  # the object has no __dict__
        return ()


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is None
    except ValueError:
        return True
