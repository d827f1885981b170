"""The static checks, one file each, in folders by topic. To add a check, add a file.

`CHECKS` maps ids to checks, `TOPICS` maps each topic to ids.
"""

from __future__ import annotations

import importlib

from .. import load_rules
from .static_rule import LEVELS, Check, Found

__all__ = ["CHECKS", "LEVELS", "TOPICS", "Check", "Found"]

_FOLDERS = ("every_step", "data", "model", "training", "old")


_BY_FOLDER: dict[str, dict[str, Check]] = {
    folder: load_rules(f"{__name__}.{folder}") for folder in _FOLDERS
}
TOPICS = {
    (importlib.import_module(f"{__name__}.{folder}").__doc__ or "").strip(): list(checks)
    for folder, checks in _BY_FOLDER.items()
}
CHECKS: dict[str, Check] = {
    name: check for checks in _BY_FOLDER.values() for name, check in checks.items()
}
