"""Checks that need the running script, one file each. A new check is a new file, and nothing else."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from ...layers.measured_layers import Measured
from .. import layers
from ..layers.layer_rule import LayerCheck
from .runtime_rule import RunningCheck


def _checks(package: str, path: Any) -> dict[str, Any]:
    names = [f"{package}.{one.name}" for one in pkgutil.iter_modules(path) if not one.ispkg]
    found = [vars(importlib.import_module(name)).get("CHECK") for name in names]
    return {one.id: one for one in sorted((one for one in found if one), key=lambda c: c.id)}


CHECKS: dict[str, RunningCheck] = _checks(__name__, __path__)
LAYER_CHECKS: dict[str, LayerCheck] = _checks(layers.__name__, layers.__path__)


def findings_of_layers(facts: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What the checks of layers find in what the watch wrote of them; dearest first, notes last."""
    if not facts:
        return []
    measured = Measured(facts)
    found = [
        {
            "file": "",
            "line": 0,
            "check": check.id,
            "level": check.level,
            "text": one.text,
            "remedy": one.remedy,
            "page": check.page,
            "seconds": one.seconds,
        }
        for check in LAYER_CHECKS.values()
        for one in check.find(measured)
    ]
    return sorted(found, key=lambda one: -float(one["seconds"] or 0.0))


def findings_of_run(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What the checks find in the facts of one process, as the doctor's JSON has it."""
    if not facts.get("observed"):
        return []
    return [
        {
            "file": one.file,
            "line": one.line,
            "check": check.id,
            "level": check.level,
            "text": one.text,
            "remedy": one.remedy,
            "page": check.page,
        }
        for check in CHECKS.values()
        for one in check.find(facts)
    ]
