"""The layers as the doctor's JSON has them."""

from __future__ import annotations

from typing import Any

from .measured_layers import Layer, Measured

MOST_ROWS = 200


def layers_json(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    """`facts`: what the watch wrote. The slowest rows; the others are counted."""
    if not facts:
        return None
    found = Measured(facts)
    rows = sorted(found.layers, key=lambda one: -one.seconds)
    return {
        "device": found.device,
        "steps": found.steps,
        "total_s": found.total_s,
        "outside_s": found.outside_s,
        "roof": {
            "bytes_per_s": found.bytes_per_s,
            "flops_per_s": found.flops_per_s,
            "seconds": found.roof_took_s,
        },
        "rows": [_row(found, one) for one in rows[:MOST_ROWS]],
        "left_out": max(0, len(rows) - MOST_ROWS),
    }


def _row(found: Measured, one: Layer) -> dict[str, Any]:
    roof = found.roof_s(one)
    return {
        "name": one.shown,
        "type": one.type,
        "kind": one.kind,
        "calls": one.calls,
        "parameters": one.parameters,
        "shape": list(one.shape_out),
        "forward_s": one.forward_s,
        "backward_s": one.backward_s,
        "share": one.seconds / found.total_s if found.total_s else 0.0,
        "flops": None if one.unknown else one.flops,
        "bytes": one.bytes,
        "intensity": one.intensity,
        "precision": one.precision,
        "bound": "compute" if found.compute_s(one) > found.memory_s(one) else "memory",
        "roof_s": roof,
        "of_roof": roof / one.seconds if one.seconds else None,
    }
