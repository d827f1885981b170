"""The static checks, one file each, in folders by topic. To add a check, add a file.

`CHECKS` maps ids to checks, `TOPICS` maps each topic to ids.
"""

from __future__ import annotations

import importlib
import pkgutil

from .static_rule import LEVELS, Check, Found

__all__ = ["CHECKS", "LEVELS", "TOPICS", "Check", "Found"]

_FOLDERS = ("every_step", "data", "model", "training", "old")


def _load(folder: str) -> dict[str, Check]:
    """Returns the CHECK of every module in a folder, sorted by id."""
    package = importlib.import_module(f"{__name__}.{folder}")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return {check.id: check for check in sorted((m.CHECK for m in modules), key=lambda c: c.id)}


_BY_FOLDER = {folder: _load(folder) for folder in _FOLDERS}
TOPICS = {
    (importlib.import_module(f"{__name__}.{folder}").__doc__ or "").strip(): list(checks)
    for folder, checks in _BY_FOLDER.items()
}
CHECKS: dict[str, Check] = {
    name: check for checks in _BY_FOLDER.values() for name, check in checks.items()
}
