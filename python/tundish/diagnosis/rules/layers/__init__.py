"""Checks for a model's measured layers. Each file is one check; to add a check, add a file."""

from __future__ import annotations

from ...doctor_json import FindingJson
from ...layers.measured_layers import MeasuredLayers
from ...probe.layers.layer_facts import LayersFacts
from .. import load_rules
from .layer_rule import LayerRule

RULES: dict[str, LayerRule] = load_rules(__name__)


def check_layers(facts: LayersFacts | None) -> list[FindingJson]:
    """Returns the findings of all layer checks, most expensive first, with notes at the end."""
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
        for check in RULES.values()
        for finding in check.find(measured)
    ]
    return sorted(found, key=lambda finding: -(finding["seconds"] or 0.0))
