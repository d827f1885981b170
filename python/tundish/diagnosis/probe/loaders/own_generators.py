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
from types import FunctionType, MethodType
from typing import Any

from ...._process.random_state import loader_random_state

_MOST_OBJECTS = 2000
_MOST_ITEMS = 100  # most items of a list, tuple or dict to search
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

    Searches attributes, containers and closures, and the global variables of modules that define the
    classes of the objects. Calls no property or method of the objects.
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
        module = sys.modules.get(str(defined.__module__))
        if module is not None and module.__name__ not in modules:
            modules.add(module.__name__)
            yield from list(vars(module).values())


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
