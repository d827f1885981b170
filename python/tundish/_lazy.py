"""Imports the public names of a package on first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any


def lazy_names(
    package: str,
    modules: Mapping[str, str],
    *,
    subpackages: Collection[str] = (),
    without_torch: Collection[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for `package`.

    modules        the module of each public name, relative to the package
    subpackages    subpackages that are imported on first use
    without_torch  prefixes of the modules and subpackages that can be imported without PyTorch; if PyTorch
                   is not installed, `dir()` and `help()` omit all other names
    """

    def get(name: str) -> Any:
        if name in subpackages:
            return importlib.import_module(f".{name}", package)
        if name not in modules:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}",
                name=name,
                obj=sys.modules[package],
            )
        value = getattr(importlib.import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)  # later uses do not call this function
        return value

    def names() -> list[str]:
        from importlib.util import find_spec

        lazy = {*modules, *subpackages}
        if find_spec("torch") is None:
            importable = tuple(without_torch)
            lazy = {name for name in lazy if modules.get(name, name).startswith(importable)}
        return sorted(lazy.union(vars(sys.modules[package])))

    return get, names
