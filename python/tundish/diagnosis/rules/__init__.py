"""The rules of `tundish check` and `tundish doctor`, one file per rule."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def load_rules(package: str) -> dict[str, Any]:
    """Returns the RULE object of every module in a package, sorted by id."""
    path = importlib.import_module(package).__path__
    modules = [
        importlib.import_module(f"{package}.{one.name}") for one in pkgutil.iter_modules(path)
    ]
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.id)}
