"""The static checks, in folders by topic. Each file is one check; to add a check, add a file.

`RULES` maps ids to rules. `TOPICS` maps each topic to the ids of its rules.
"""

from __future__ import annotations

import importlib

from .. import load_rules
from .static_rule import LEVELS, Occurrence, StaticRule

__all__ = ["LEVELS", "RULES", "TOPICS", "Occurrence", "StaticRule"]

_FOLDERS = ("every_step", "data", "model", "training", "old")


_BY_FOLDER: dict[str, dict[str, StaticRule]] = {
    folder: load_rules(f"{__name__}.{folder}") for folder in _FOLDERS
}
TOPICS = {
    (importlib.import_module(f"{__name__}.{folder}").__doc__ or "").strip(): list(checks)
    for folder, checks in _BY_FOLDER.items()
}
RULES: dict[str, StaticRule] = {
    name: check for checks in _BY_FOLDER.values() for name, check in checks.items()
}
