"""Calls a function as soon as the script has imported a module, without importing it first."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from typing import Any


class AfterImport:
    """In sys.meta_path; finds nothing itself. A function is called once, in the importing thread."""

    def __init__(self, functions: dict[str, Callable[[], None]]) -> None:
        self._waiting = dict(functions)

    def install(self) -> None:
        for name in [name for name in self._waiting if name in sys.modules]:
            self._waiting.pop(name)()
        if self._waiting:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name not in self._waiting:
            return None
        function = self._waiting.pop(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_tell(module: Any) -> None:
            execute(module)
            function()

        # On this one object: its class and its other methods stay as they are.
        spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]
        return spec
