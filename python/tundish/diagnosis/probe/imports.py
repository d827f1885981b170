"""Calls functions as soon as the script has imported a module, without importing the module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any


class AfterImport:
    """Import hook in sys.meta_path. Calls each function once, in the importing thread."""

    def __init__(self, functions: dict[str, Callable[[], None]]) -> None:
        self._pending = dict(functions)

    def install(self) -> None:
        for name in [name for name in self._pending if name in sys.modules]:
            self._pending.pop(name)()
        if self._pending:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name not in self._pending:
            return None
        function = self._pending.pop(name)
        spec = self._find_by_others(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_call(module: Any) -> None:
            execute(module)
            function()

        # Patches only this object, not its class.
        spec.loader.exec_module = execute_and_call
        return spec

    def _find_by_others(self, name: str, path: Sequence[str] | None, target: Any) -> Any:
        """Queries the finders after this one. An editable installation has a separate finder."""
        after = sys.meta_path.index(self) + 1 if self in sys.meta_path else 0
        for finder in sys.meta_path[after:]:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None
