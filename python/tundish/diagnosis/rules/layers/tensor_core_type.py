"""Detects float32 or float64 matrix operations on a GPU with Tensor Cores."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.measured_layers import MeasuredLayers, percent, slowest_names, total
from ...probe.layers.layer_facts import LayerFacts
from ..runtime.runtime_rule import name_list
from .layer_rule import LayerFinding, LayerRule

PRECISIONS = ("fp32", "float64")


def find(measured: MeasuredLayers) -> Iterator[LayerFinding]:
    if measured.device != "cuda":
        return
    found, cost = [], 0.0
    for layer in measured.layers:
        share = _share_in_bf16(measured, layer) if layer.precision in PRECISIONS else None
        if share is not None and share < 1:
            found.append(layer)
            cost += layer.seconds * (1 - share)
    if found and measured.is_significant(cost):
        names = name_list(slowest_names(found), len(found))
        timed = [layer for layer in found if layer.in_bf16 is not None]
        slowest = max(timed, key=lambda layer: layer.seconds, default=None)
        figure = ""
        if slowest is not None:
            figure = f"; under autocast {slowest.display_name} takes {percent(slowest.in_bf16 or 1.0)} of its time"
        yield LayerFinding(
            f"{names}: {measured.share(total(found))} of the model's time is spent in float32, without Tensor Cores{figure}",
            'use torch.autocast("cuda", torch.bfloat16) or torch.set_float32_matmul_precision("high"); tundish tune measures both, '
            "including their numerics",
            cost,
        )


def _share_in_bf16(measured: MeasuredLayers, layer: LayerFacts) -> float | None:
    """Returns the layer's time in bfloat16 relative to its current time.

    The value is measured, or estimated from the limits of the machine.
    """
    if layer.in_bf16 is not None:
        return layer.in_bf16
    fast, roof = measured.roof.flops_per_s.get("bf16"), measured.roof_s(layer)
    if not fast or not measured.roof.bytes_per_s or not roof:
        return None
    return max(layer.flops / fast, layer.bytes / 2 / measured.roof.bytes_per_s) / roof


RULE = LayerRule(
    id="tensor-core-type",
    title="matrix operations without Tensor Cores",
    level="warning",
    reason="Tensor Cores compute float16, bfloat16 and TF32. torch uses TF32 for convolutions, but only on request for matrix products. The slowest "
    "such layers are timed on the GPU, as they are and under bfloat16 autocast including conversions. Layers that gain nothing "
    "are not reported. For other layers, the cost is estimated from the roof of bfloat16, which is the best case.",
    find=find,
)
