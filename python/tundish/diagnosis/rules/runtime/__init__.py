"""Checks that need the running script, one file each. To add a check, add a file."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from ...doctor_json import FindingJson
from ...layers.measured_layers import MeasuredLayers
from ...probe.facts import Facts
from ...probe.layers.layer_facts import LayersFacts
from .. import layers
from ..layers.layer_rule import LayerCheck
from .runtime_rule import RunningCheck


def _checks(package: str, path: Any) -> dict[str, Any]:
    names = [
        f"{package}.{module.name}" for module in pkgutil.iter_modules(path) if not module.ispkg
    ]
    found = [vars(importlib.import_module(name)).get("CHECK") for name in names]
    return {
        check.id: check for check in sorted((check for check in found if check), key=lambda c: c.id)
    }


CHECKS: dict[str, RunningCheck] = _checks(__name__, __path__)
LAYER_CHECKS: dict[str, LayerCheck] = _checks(layers.__name__, layers.__path__)


def check_layers(facts: LayersFacts | None) -> list[FindingJson]:
    """Returns the findings of the layer checks, most expensive first, notes last."""
    if not facts:
        return []
    measured = MeasuredLayers(facts)
    found: list[FindingJson] = [
        {
            "file": "",
            "line": 0,
            "check": check.id,
            "level": check.level,
            "text": finding.text,
            "fix": finding.fix,
            "page": check.page,
            "seconds": finding.seconds,
        }
        for check in LAYER_CHECKS.values()
        for finding in check.find(measured)
    ]
    return sorted(found, key=lambda finding: -(finding["seconds"] or 0.0))


def check_run(facts: Facts) -> list[FindingJson]:
    """Returns the findings of the runtime checks for one process, as in the doctor's JSON."""
    if facts.observed is None:
        return []
    return [
        {
            "file": finding.file,
            "line": finding.line,
            "check": check.id,
            "level": check.level,
            "text": finding.text,
            "fix": finding.fix,
            "page": check.page,
            "seconds": None,
        }
        for check in CHECKS.values()
        for finding in check.find(facts, facts.observed)
    ]
