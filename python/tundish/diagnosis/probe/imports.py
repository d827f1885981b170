"""Calls functions as soon as the script imports a module. Does not import the module itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any


class AfterImport:
    """Import hook for sys.meta_path. Calls each function once, in the thread that imports the module."""

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
        """Returns the module's spec, with a loader that calls the function after the import.

        A script may look up a module without importing it (importlib.util.find_spec), so the
        function waits until the module has been executed.
        """
        if name not in self._pending:
            return None
        spec = self._find_by_others(name, path, target)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return spec

        def execute_and_call(module: Any) -> None:
            execute(module)
            function = self._pending.pop(name, None)
            if function is not None:
                function()

        # Patch only this loader object, not its class.
        spec.loader.exec_module = execute_and_call
        return spec

    def _find_by_others(self, name: str, path: Sequence[str] | None, target: Any) -> Any:
        """Queries the finders after this one, such as the finder of an editable installation."""
        after = sys.meta_path.index(self) + 1 if self in sys.meta_path else 0
        for finder in sys.meta_path[after:]:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None
