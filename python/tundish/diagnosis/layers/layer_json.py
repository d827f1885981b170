"""Converts layers to the doctor's JSON."""

from __future__ import annotations

from ..doctor_json import LayerJson, LayersJson
from ..probe.layers.layer_facts import LayerFacts, LayersFacts
from .measured_layers import MeasuredLayers

MOST_ROWS = 200


def layers_json(facts: LayersFacts | None) -> LayersJson | None:
    """Returns the slowest layers and the number of omitted layers. Returns None without facts."""
    if not facts:
        return None
    found = MeasuredLayers(facts)
    rows = sorted(found.layers, key=lambda layer: -layer.seconds)
    return {
        "device": found.device,
        "steps": found.steps,
        "total_s": found.total_s,
        "outside_s": found.outside_s,
        "roof": {
            "bytes_per_s": found.roof.bytes_per_s,
            "flops_per_s": found.roof.flops_per_s,
            "seconds": found.roof.seconds,
        },
        "rows": [_row(found, layer) for layer in rows[:MOST_ROWS]],
        "left_out": max(0, len(rows) - MOST_ROWS),
    }


def _row(found: MeasuredLayers, layer: LayerFacts) -> LayerJson:
    roof = found.roof_s(layer)
    return {
        "name": layer.display_name,
        "type": layer.type,
        "kind": layer.kind,
        "calls": layer.calls,
        "parameters": layer.parameters,
        "shape": list(layer.shape_out),
        "forward_s": layer.forward_s,
        "backward_s": layer.backward_s,
        "share": layer.seconds / found.total_s if found.total_s else 0.0,
        "flops": None if layer.unknown else layer.flops,
        "bytes": layer.bytes,
        "intensity": layer.intensity,
        "precision": layer.precision,
        "bound": "compute" if found.compute_s(layer) > found.memory_s(layer) else "memory",
        "roof_s": roof,
        "of_roof": roof / layer.seconds if layer.seconds else None,
    }
